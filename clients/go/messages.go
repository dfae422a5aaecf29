// The official Anthropic SDK.
package main

import (
	"context"
	"errors"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
)

func messages(url string, asked job) speaker[anthropic.MessageParam] {
	client := anthropic.NewClient(option.WithBaseURL(url), option.WithAPIKey(asked.Key), option.WithMaxRetries(asked.Retries))
	return speaker[anthropic.MessageParam]{
		user: func(text string) anthropic.MessageParam {
			return anthropic.NewUserMessage(anthropic.NewTextBlock(text))
		},
		results: func(calls []call, text string) []anthropic.MessageParam {
			var blocks []anthropic.ContentBlockParamUnion
			for _, one := range calls {
				blocks = append(blocks, anthropic.NewToolResultBlock(one.ID, text, false))
			}
			return []anthropic.MessageParam{anthropic.NewUserMessage(blocks...)}
		},
		ask: func(history []anthropic.MessageParam) (turn, []anthropic.MessageParam, error) {
			message, most, err := say(client, asked, messagesParams(asked, history))
			if err != nil {
				return turn{}, nil, err
			}
			one := turn{
				Finish: string(message.StopReason),
				Usage:  [2]int64{message.Usage.InputTokens, message.Usage.OutputTokens},
				Calls:  []call{},
				Open:   most,
			}
			for _, block := range message.Content {
				switch block := block.AsAny().(type) {
				case anthropic.TextBlock:
					one.Text += block.Text
				case anthropic.ThinkingBlock:
					one.Thought += block.Thinking
				case anthropic.ToolUseBlock:
					one.Calls = append(one.Calls, call{block.ID, block.Name, string(block.Input)})
				}
			}
			return one, []anthropic.MessageParam{message.ToParam()}, nil
		},
		models: func(model string) ([]string, string, error) {
			var names []string
			pages := client.Models.ListAutoPaging(context.Background(), anthropic.ModelListParams{})
			for pages.Next() {
				names = append(names, pages.Current().ID)
			}
			if pages.Err() != nil {
				return nil, "", pages.Err()
			}
			one, err := client.Models.Get(context.Background(), model, anthropic.ModelGetParams{})
			if err != nil {
				return nil, "", err
			}
			return names, one.ID, nil
		},
		told: func(err error) said {
			var told *anthropic.Error
			if !errors.As(err, &told) {
				return said{"told": false}
			}
			what := said{"told": true, "status": told.StatusCode, "word": told.Type(), "message": told.RawJSON()}
			if told.Response != nil {
				what["retry_after"] = told.Response.Header.Get("retry-after")
			}
			return what
		},
	}
}

func messagesParams(asked job, history []anthropic.MessageParam) anthropic.MessageNewParams {
	params := anthropic.MessageNewParams{Model: asked.Model, MaxTokens: 16_000, Messages: history}
	if asked.System != "" {
		params.System = []anthropic.TextBlockParam{{Text: asked.System}}
	}
	for _, one := range asked.Tools {
		schema := anthropic.ToolInputSchemaParam{Type: "object", Properties: one.Parameters["properties"]}
		if required, ok := one.Parameters["required"].([]any); ok {
			for _, name := range required {
				schema.Required = append(schema.Required, name.(string))
			}
		}
		made := anthropic.ToolUnionParamOfTool(schema, one.Name)
		made.OfTool.Description = anthropic.String(one.Description)
		params.Tools = append(params.Tools, made)
	}
	if asked.Limit != 0 {
		params.MaxTokens = asked.Limit
	}
	if asked.Reasons {
		params.Thinking = anthropic.ThinkingConfigParamOfEnabled(8192)
	}
	if asked.Schema != nil {
		params.OutputConfig.Format.Schema = asked.Schema
	}
	return params
}

// The message, and the most blocks of its stream that were open at once.
func say(client anthropic.Client, asked job, params anthropic.MessageNewParams) (*anthropic.Message, int, error) {
	if asked.Mode == "whole" {
		message, err := client.Messages.New(context.Background(), params)
		return message, 0, err
	}
	stream := client.Messages.NewStreaming(context.Background(), params)
	message := anthropic.Message{}
	open, most := 0, 0
	ended := false
	for stream.Next() {
		piece := stream.Current()
		if err := message.Accumulate(piece); err != nil {
			return nil, 0, err
		}
		switch piece.Type {
		case "content_block_start":
			open++
			most = max(most, open)
		case "content_block_stop":
			open--
		case "message_stop":
			ended = true
		}
	}
	if stream.Err() == nil && !ended {
		return nil, 0, errors.New("the stream ended without its end")
	}
	return &message, most, stream.Err()
}
