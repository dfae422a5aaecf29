// Executes each job with the SDK of its dialect, and prints the SDK's view of the answer: a line of JSON for each job.
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"
)

type tool struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Parameters  map[string]any `json:"parameters"`
}

type job struct {
	ID      string         `json:"id"`
	Does    string         `json:"does"`
	Dialect string         `json:"dialect"`
	Mode    string         `json:"mode"`
	Model   string         `json:"model"`
	Text    string         `json:"text"`
	Key     string         `json:"key"`
	Strict  bool           `json:"strict"`
	Retries int            `json:"retries"`
	Tools   []tool         `json:"tools"`
	Result  *string        `json:"result"`
	System  string         `json:"system"`
	Limit   int64          `json:"limit"`
	Reasons bool           `json:"reasons"`
	Schema  map[string]any `json:"schema"`
	Padding int            `json:"padding"`
}

type call struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Args string `json:"args"`
}

type turn struct {
	Text    string   `json:"text"`
	Thought string   `json:"thought"`
	Calls   []call   `json:"calls"`
	Finish  string   `json:"finish"`
	Usage   [2]int64 `json:"usage"`
	// The most blocks of a stream that were open at once.
	Open int `json:"open"`
}

type said map[string]any

// An SDK; Item is a piece of its history.
type speaker[Item any] struct {
	user    func(text string) Item
	results func(calls []call, text string) []Item
	ask     func(history []Item) (turn, []Item, error)
	models  func(model string) ([]string, string, error)
	told    func(err error) said
}

func run[Item any](asked job, sdk speaker[Item]) said {
	if asked.Does == "models" {
		models, one, err := sdk.models(asked.Model)
		if err != nil {
			return failed(err, sdk.told)
		}
		return said{"models": models, "model": one}
	}
	history := []Item{sdk.user(asked.Text + strings.Repeat("x", asked.Padding))}
	turns := []turn{}
	for {
		one, items, err := sdk.ask(history)
		if err != nil {
			return failed(err, sdk.told)
		}
		turns = append(turns, one)
		if len(one.Calls) == 0 || asked.Result == nil || len(turns) == 2 {
			return said{"turns": turns}
		}
		history = append(append(history, items...), sdk.results(one.Calls, *asked.Result)...)
	}
}

func failed(err error, told func(err error) said) said {
	what := said{"class": fmt.Sprintf("%T", err), "message": err.Error()}
	maps.Copy(what, told(err))
	return said{"error": what}
}

func dispatch(asked job, url string) said {
	if asked.Strict {
		return said{"skipped": "types: the SDKs have no strict decoding to turn on"}
	}
	switch asked.Dialect {
	case "chat":
		return run(asked, chat(url, asked))
	case "messages":
		return run(asked, messages(url, asked))
	case "generate":
		return run(asked, generate(url, asked))
	default:
		return run(asked, responsesOf(url, asked))
	}
}

// Converts the numbers of a schema to types that the SDKs write as numbers: they write a json.Number as a text.
func exact(object map[string]any) {
	for name, value := range object {
		switch value := value.(type) {
		case json.Number:
			if whole, err := value.Int64(); err == nil {
				object[name] = whole
			}
		case map[string]any:
			exact(value)
		}
	}
}

func main() {
	var jobs []job
	in := json.NewDecoder(os.Stdin)
	// Numbers of schemas keep their digits.
	in.UseNumber()
	if err := in.Decode(&jobs); err != nil {
		panic(err)
	}
	out := json.NewEncoder(os.Stdout)
	for _, asked := range jobs {
		for _, one := range asked.Tools {
			exact(one.Parameters)
		}
		result := dispatch(asked, os.Getenv("BASE_URL"))
		result["id"] = asked.ID
		if err := out.Encode(result); err != nil {
			panic(err)
		}
	}
}
