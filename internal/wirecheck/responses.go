package wirecheck

import "slices"

var responsesRules = []Rule{
	{ID: "responses.shape", Source: openaiResponses},
	{ID: "responses.roles", Source: openaiResponses},
	{ID: "responses.content", Source: openaiResponses},
	{ID: "responses.item", Source: openaiResponses},
	{ID: "responses.id", Source: "input[95].call_id: string too long. Expected a string with maximum length 64", Unverified: true},
	{ID: "responses.pairs", Source: openaiFunctions},
	{ID: "responses.reasoning", Source: "Item of type 'reasoning' was provided without its required following item", Unverified: true},
	{ID: "responses.image", Source: openaiVision},
}

var responsesContent = map[string][]string{
	"user":      {"input_text", "input_image", "input_file"},
	"system":    {"input_text"},
	"developer": {"input_text"},
	"assistant": {"output_text", "refusal"},
	"output":    {"input_text", "input_image", "input_file"},
}

// hosted are the items of tools that the provider runs; they are sent as they came.
var hosted = []string{"file_search_call", "web_search_call", "code_interpreter_call",
	"image_generation_call", "mcp_call", "mcp_list_tools", "compaction", "tool_search_call", "tool_search_output"}

// Responses checks the "input" of a Responses request: a list of items.
func Responses(input []byte) error {
	v, err := parse("responses.shape", input)
	if err != nil {
		return err
	}
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return broken("responses.shape", "input", "is no list, or empty")
	}
	open := map[string]string{} // call_id to the type of its output
	seen := map[string]bool{}
	reasoning := false // the item before
	for i, v := range list {
		path := at("input", i)
		item, ok := v.(object)
		if !ok {
			return broken("responses.shape", path, "is no object")
		}
		kind := str(item, "type")
		if kind == "" && has(item, "role") {
			kind = "message"
		}
		role := str(item, "role")
		follows := kind == "reasoning" || kind == "function_call" || kind == "custom_tool_call" ||
			kind == "message" && role == "assistant" || slices.Contains(hosted, kind)
		if reasoning && !follows {
			return broken("responses.reasoning", path, "of type %q follows reasoning", kind)
		}
		reasoning = kind == "reasoning"
		switch kind {
		case "message":
			err = responsesMessage(path, role, item)
		case "reasoning":
			if _, ok := item["summary"].([]any); !ok || str(item, "id") == "" {
				err = broken("responses.item", path, "is reasoning without id or summary")
			}
		case "function_call", "custom_tool_call":
			id := str(item, "call_id")
			if id == "" || len(id) > 64 || seen[id] {
				return broken("responses.id", path, "has the call_id %q, too long, empty or in use", id)
			}
			seen[id] = true
			open[id] = kind + "_output"
			text := map[string]string{"function_call": "arguments", "custom_tool_call": "input"}[kind]
			if _, ok := item[text].(string); !ok || !plain(str(item, "name"), 128) {
				err = broken("responses.item", path, "has the name %q and no %s", item["name"], text)
			}
		case "function_call_output", "custom_tool_call_output":
			if open[str(item, "call_id")] != kind {
				return broken("responses.pairs", path, "answers %q, which is not open", item["call_id"])
			}
			delete(open, str(item, "call_id"))
			if _, ok := item["output"].(string); !ok {
				err = responsesParts(path, "output", item["output"])
			}
		default:
			if !slices.Contains(hosted, kind) {
				err = broken("responses.item", path, "has the type %q", kind)
			}
		}
		if err != nil {
			return err
		}
		for k, v := range item {
			if v == nil && kind != "reasoning" && !slices.Contains(hosted, kind) {
				return broken("responses.item", path, "has a null %s", k)
			}
		}
	}
	if reasoning {
		return broken("responses.reasoning", "input", "ends with reasoning")
	}
	if len(open) > 0 {
		return broken("responses.pairs", "input", "leaves calls unanswered: %v", open)
	}
	return nil
}

func responsesMessage(path, role string, item object) error {
	if _, ok := responsesContent[role]; !ok || role == "output" {
		return broken("responses.roles", path, "has the role %q", role)
	}
	if k := onlyKeys(item, "type", "role", "content", "phase", "id", "status"); k != "" {
		return broken("responses.item", path, "has the key %q", k)
	}
	if s, ok := item["content"].(string); ok {
		if s == "" && role == "assistant" {
			return broken("responses.content", path, "is empty")
		}
		return nil
	}
	return responsesParts(path, role, item["content"])
}

func responsesParts(path, owner string, v any) error {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return broken("responses.content", path, "has no content")
	}
	for i, v := range list {
		q := at(path+".content", i)
		p, ok := v.(object)
		if !ok {
			return broken("responses.content", q, "is no object")
		}
		kind := str(p, "type")
		if !slices.Contains(responsesContent[owner], kind) {
			return broken("responses.content", q, "of type %q has no place in %s", kind, owner)
		}
		switch kind {
		case "input_text", "output_text":
			if k := onlyKeys(p, "type", "text", "annotations", "logprobs"); k != "" || str(p, "text") == "" {
				return broken("responses.content", q, "is empty, or has the key %q", k)
			}
		case "refusal":
			if str(p, "refusal") == "" {
				return broken("responses.content", q, "is empty")
			}
		case "input_image":
			if has(p, "image_url") {
				if err := imageURL("responses.image", q, str(p, "image_url")); err != nil {
					return err
				}
			} else if str(p, "file_id") == "" {
				return broken("responses.image", q, "has neither image_url nor file_id")
			}
		case "input_file":
			if str(p, "file_id") == "" && str(p, "file_data") == "" && str(p, "file_url") == "" {
				return broken("responses.content", q, "is a file without a place")
			}
		}
	}
	return nil
}
