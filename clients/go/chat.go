// The official OpenAI SDK, chat completions.
package main

import (
	"context"
	"errors"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/shared"
)

func openaiClient(url string, asked job) openai.Client {
	return openai.NewClient(option.WithBaseURL(url+"/v1"), option.WithAPIKey(asked.Key), option.WithMaxRetries(asked.Retries))
}

func chat(url string, asked job) speaker[openai.ChatCompletionMessageParamUnion] {
	client := openaiClient(url, asked)
	return speaker[openai.ChatCompletionMessageParamUnion]{
		user: func(text string) openai.ChatCompletionMessageParamUnion { return openai.UserMessage(text) },
		results: func(calls []call, text string) []openai.ChatCompletionMessageParamUnion {
			var items []openai.ChatCompletionMessageParamUnion
			for _, one := range calls {
				items = append(items, openai.ToolMessage(text, one.ID))
			}
			return items
		},
		ask: func(history []openai.ChatCompletionMessageParamUnion) (turn, []openai.ChatCompletionMessageParamUnion, error) {
			completion, err := complete(client, asked, chatParams(asked, history))
			if err != nil {
				return turn{}, nil, err
			}
			message := completion.Choices[0].Message
			one := turn{
				Text:   message.Content,
				Finish: completion.Choices[0].FinishReason,
				Usage:  [2]int64{completion.Usage.PromptTokens, completion.Usage.CompletionTokens},
				Calls:  []call{},
			}
			for _, made := range message.ToolCalls {
				one.Calls = append(one.Calls, call{made.ID, made.Function.Name, made.Function.Arguments})
			}
			return one, []openai.ChatCompletionMessageParamUnion{message.ToParam()}, nil
		},
		models: func(model string) ([]string, string, error) { return openaiModels(client, model) },
		told:   openaiTold,
	}
}

func chatParams(asked job, history []openai.ChatCompletionMessageParamUnion) openai.ChatCompletionNewParams {
	params := openai.ChatCompletionNewParams{Model: asked.Model}
	if asked.System != "" {
		params.Messages = append(params.Messages, openai.SystemMessage(asked.System))
	}
	params.Messages = append(params.Messages, history...)
	for _, one := range asked.Tools {
		params.Tools = append(params.Tools, openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: one.Name, Description: openai.String(one.Description), Parameters: one.Parameters,
		}))
	}
	if asked.Limit != 0 {
		params.MaxCompletionTokens = openai.Int(asked.Limit)
	}
	if asked.Reasons {
		params.ReasoningEffort = shared.ReasoningEffortHigh
	}
	if asked.Schema != nil {
		params.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
				Name: "answer", Strict: openai.Bool(true), Schema: asked.Schema,
			},
		}
	}
	return params
}

func complete(client openai.Client, asked job, params openai.ChatCompletionNewParams) (*openai.ChatCompletion, error) {
	if asked.Mode == "whole" {
		return client.Chat.Completions.New(context.Background(), params)
	}
	params.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := client.Chat.Completions.NewStreaming(context.Background(), params)
	var gathered openai.ChatCompletionAccumulator
	for stream.Next() {
		if !gathered.AddChunk(stream.Current()) {
			return nil, errors.New("the accumulator refused a chunk: " + stream.Current().RawJSON())
		}
	}
	if stream.Err() == nil && (len(gathered.Choices) == 0 || gathered.Choices[0].FinishReason == "") {
		return nil, errors.New("the stream ended without a reason")
	}
	return &gathered.ChatCompletion, stream.Err()
}

func openaiModels(client openai.Client, model string) ([]string, string, error) {
	var names []string
	pages := client.Models.ListAutoPaging(context.Background())
	for pages.Next() {
		names = append(names, pages.Current().ID)
	}
	if pages.Err() != nil {
		return nil, "", pages.Err()
	}
	one, err := client.Models.Get(context.Background(), model)
	if err != nil {
		return nil, "", err
	}
	return names, one.ID, nil
}

func openaiTold(err error) said {
	var told *openai.Error
	if errors.As(err, &told) {
		return said{"told": true, "status": told.StatusCode, "word": told.Type, "retry_after": told.Response.Header.Get("retry-after"), "message": told.RawJSON()}
	}
	var inside *ssestream.StreamError
	return said{"told": errors.As(err, &inside)}
}
