// The official OpenAI SDK, responses. It collects no streams: the last event has the whole answer.
package main

import (
	"context"
	"errors"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

// An error that the SDK returns as an event of the stream, which its caller must check.
type event struct{ raw string }

func (e event) Error() string { return e.raw }

func responsesOf(url string, asked job) speaker[responses.ResponseInputItemUnionParam] {
	client := openaiClient(url, asked)
	return speaker[responses.ResponseInputItemUnionParam]{
		user: func(text string) responses.ResponseInputItemUnionParam {
			return responses.ResponseInputItemParamOfMessage(text, responses.EasyInputMessageRoleUser)
		},
		results: func(calls []call, text string) []responses.ResponseInputItemUnionParam {
			var items []responses.ResponseInputItemUnionParam
			for _, one := range calls {
				item := responses.ResponseInputItemParamOfFunctionCallOutput(text)
				item.OfFunctionCallOutput.CallID = openai.String(one.ID)
				items = append(items, item)
			}
			return items
		},
		ask: func(history []responses.ResponseInputItemUnionParam) (turn, []responses.ResponseInputItemUnionParam, error) {
			response, most, err := respond(client, asked, responsesParams(asked, history))
			if err != nil {
				return turn{}, nil, err
			}
			one := turn{
				Text:   response.OutputText(),
				Finish: string(response.Status),
				Usage:  [2]int64{response.Usage.InputTokens, response.Usage.OutputTokens},
				Calls:  []call{},
				Open:   most,
			}
			if response.IncompleteDetails.Reason != "" {
				one.Finish = response.IncompleteDetails.Reason
			}
			var items []responses.ResponseInputItemUnionParam
			for _, output := range response.Output {
				switch item := output.AsAny().(type) {
				case responses.ResponseOutputMessage:
					param := item.ToParam()
					items = append(items, responses.ResponseInputItemUnionParam{OfOutputMessage: &param})
				case responses.ResponseReasoningItem:
					for _, part := range item.Summary {
						one.Thought += part.Text
					}
					param := item.ToParam()
					items = append(items, responses.ResponseInputItemUnionParam{OfReasoning: &param})
				case responses.ResponseFunctionToolCall:
					one.Calls = append(one.Calls, call{item.CallID, item.Name, item.Arguments})
					param := item.ToParam()
					items = append(items, responses.ResponseInputItemUnionParam{OfFunctionCall: &param})
				default:
					return turn{}, nil, errors.New("an item of another type: " + output.RawJSON())
				}
			}
			return one, items, nil
		},
		told: func(err error) said {
			if _, ok := err.(event); ok {
				return said{"told": true}
			}
			return openaiTold(err)
		},
	}
}

func responsesParams(asked job, history responses.ResponseInputParam) responses.ResponseNewParams {
	params := responses.ResponseNewParams{
		Model:   asked.Model,
		Input:   responses.ResponseNewParamsInputUnion{OfInputItemList: history},
		Store:   openai.Bool(false),
		Include: []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
	}
	if asked.System != "" {
		params.Instructions = openai.String(asked.System)
	}
	for _, one := range asked.Tools {
		params.Tools = append(params.Tools, responses.ToolUnionParam{OfFunction: &responses.FunctionToolParam{
			Name: one.Name, Description: openai.String(one.Description), Parameters: one.Parameters, Strict: openai.Bool(false),
		}})
	}
	if asked.Limit != 0 {
		params.MaxOutputTokens = openai.Int(asked.Limit)
	}
	if asked.Reasons {
		params.Reasoning = shared.ReasoningParam{Effort: shared.ReasoningEffortHigh, Summary: shared.ReasoningSummaryAuto}
	}
	if asked.Schema != nil {
		params.Text.Format.OfJSONSchema = &responses.ResponseFormatTextJSONSchemaConfigParam{
			Name: "answer", Strict: openai.Bool(true), Schema: asked.Schema,
		}
	}
	return params
}

// The response, and the most items of its stream that were open at once.
func respond(client openai.Client, asked job, params responses.ResponseNewParams) (*responses.Response, int, error) {
	if asked.Mode == "whole" {
		response, err := client.Responses.New(context.Background(), params)
		return response, 0, err
	}
	stream := client.Responses.NewStreaming(context.Background(), params)
	var last *responses.Response
	open, most := 0, 0
	for stream.Next() {
		switch piece := stream.Current(); piece.Type {
		case "error", "response.failed":
			return nil, 0, event{piece.RawJSON()}
		case "response.completed", "response.incomplete":
			last = &piece.Response
		case "response.output_item.added":
			open++
			most = max(most, open)
		case "response.output_item.done":
			open--
		}
	}
	if stream.Err() == nil && last == nil {
		return nil, 0, errors.New("the stream ended without its end")
	}
	return last, most, stream.Err()
}
