// The official Gemini SDK. It collects no streams: callers join the parts.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"

	"google.golang.org/genai"
)

func generate(url string, asked job) speaker[*genai.Content] {
	attempts := int32(asked.Retries) + 1
	client, err := genai.NewClient(context.Background(), &genai.ClientConfig{
		APIKey:  asked.Key,
		Backend: genai.BackendGeminiAPI,
		HTTPOptions: genai.HTTPOptions{
			BaseURL:      url,
			RetryOptions: &genai.HTTPRetryOptions{Attempts: &attempts},
		},
	})
	if err != nil {
		panic(err)
	}
	return speaker[*genai.Content]{
		user: func(text string) *genai.Content { return genai.NewContentFromText(text, genai.RoleUser) },
		results: func(calls []call, text string) []*genai.Content {
			var parts []*genai.Part
			for _, one := range calls {
				parts = append(parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{
					ID: one.ID, Name: one.Name, Response: map[string]any{"output": text},
				}})
			}
			return []*genai.Content{genai.NewContentFromParts(parts, genai.RoleUser)}
		},
		ask: func(history []*genai.Content) (turn, []*genai.Content, error) {
			parts, last, err := generated(client, asked, history)
			if err != nil {
				return turn{}, nil, err
			}
			one := turn{Finish: string(last.Candidates[0].FinishReason), Calls: []call{}}
			if usage := last.UsageMetadata; usage != nil {
				one.Usage = [2]int64{int64(usage.PromptTokenCount), int64(usage.CandidatesTokenCount + usage.ThoughtsTokenCount)}
			}
			for _, part := range parts {
				switch {
				case part.FunctionCall != nil:
					args := []byte("{}")
					if len(part.FunctionCall.Args) > 0 {
						if args, err = json.Marshal(part.FunctionCall.Args); err != nil {
							return turn{}, nil, err
						}
					}
					one.Calls = append(one.Calls, call{part.FunctionCall.ID, part.FunctionCall.Name, string(args)})
				case part.Thought:
					one.Thought += part.Text
				default:
					one.Text += part.Text
				}
			}
			return one, []*genai.Content{genai.NewContentFromParts(parts, genai.RoleModel)}, nil
		},
		models: func(model string) ([]string, string, error) {
			var names []string
			for one, err := range client.Models.All(context.Background()) {
				if err != nil {
					return nil, "", err
				}
				names = append(names, strings.TrimPrefix(one.Name, "models/"))
			}
			one, err := client.Models.Get(context.Background(), model, nil)
			if err != nil {
				return nil, "", err
			}
			return names, strings.TrimPrefix(one.Name, "models/"), nil
		},
		told: func(err error) said {
			var told genai.APIError
			if !errors.As(err, &told) {
				return said{"told": false}
			}
			return said{"told": true, "status": told.Code, "word": told.Status}
		},
	}
}

func generateConfig(asked job) *genai.GenerateContentConfig {
	config := &genai.GenerateContentConfig{MaxOutputTokens: int32(asked.Limit)}
	if asked.System != "" {
		config.SystemInstruction = genai.NewContentFromText(asked.System, genai.RoleUser)
	}
	for _, one := range asked.Tools {
		declared := &genai.FunctionDeclaration{Name: one.Name, Description: one.Description}
		if one.Parameters != nil {
			declared.ParametersJsonSchema = one.Parameters
		}
		if len(config.Tools) == 0 {
			config.Tools = []*genai.Tool{{}}
		}
		config.Tools[0].FunctionDeclarations = append(config.Tools[0].FunctionDeclarations, declared)
	}
	if asked.Reasons {
		config.ThinkingConfig = &genai.ThinkingConfig{IncludeThoughts: true, ThinkingBudget: genai.Ptr[int32](8192)}
	}
	if asked.Schema != nil {
		config.ResponseMIMEType = "application/json"
		config.ResponseJsonSchema = asked.Schema
	}
	return config
}

func generated(client *genai.Client, asked job, history []*genai.Content) ([]*genai.Part, *genai.GenerateContentResponse, error) {
	var answers []*genai.GenerateContentResponse
	if asked.Mode == "whole" {
		answer, err := client.Models.GenerateContent(context.Background(), asked.Model, history, generateConfig(asked))
		if err != nil {
			return nil, nil, err
		}
		answers = append(answers, answer)
	} else {
		for answer, err := range client.Models.GenerateContentStream(context.Background(), asked.Model, history, generateConfig(asked)) {
			if err != nil {
				return nil, nil, err
			}
			answers = append(answers, answer)
		}
	}
	var parts []*genai.Part
	for _, answer := range answers {
		if len(answer.Candidates) == 0 {
			return nil, nil, errors.New("an answer without candidates")
		}
		if content := answer.Candidates[0].Content; content != nil {
			for _, part := range content.Parts {
				// The SDK would send an empty part back as {}; its own chats leave such parts out, too.
				if !reflect.ValueOf(*part).IsZero() {
					parts = append(parts, part)
				}
			}
		}
	}
	if len(answers) == 0 || answers[len(answers)-1].Candidates[0].FinishReason == "" {
		return nil, nil, errors.New("the stream ended without a reason")
	}
	return parts, answers[len(answers)-1], nil
}
