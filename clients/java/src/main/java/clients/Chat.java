package clients;

import com.fasterxml.jackson.databind.JsonNode;
import com.openai.core.JsonValue;
import com.openai.core.http.StreamResponse;
import com.openai.helpers.ChatCompletionAccumulator;
import com.openai.models.FunctionDefinition;
import com.openai.models.FunctionParameters;
import com.openai.models.ReasoningEffort;
import com.openai.models.ResponseFormatJsonSchema;
import com.openai.models.chat.completions.ChatCompletion;
import com.openai.models.chat.completions.ChatCompletionChunk;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.chat.completions.ChatCompletionMessage;
import com.openai.models.chat.completions.ChatCompletionMessageParam;
import com.openai.models.chat.completions.ChatCompletionStreamOptions;
import com.openai.models.chat.completions.ChatCompletionToolMessageParam;
import com.openai.models.chat.completions.ChatCompletionUserMessageParam;
import com.openai.models.completions.CompletionUsage;
import java.util.List;

/** The official OpenAI SDK, chat completions. */
final class Chat extends OpenAi<ChatCompletionMessageParam> {
    Chat(String url, JsonNode job) {
        super(url, job);
    }

    @Override
    public ChatCompletionMessageParam user(String text) {
        return ChatCompletionMessageParam.ofUser(ChatCompletionUserMessageParam.builder().content(text).build());
    }

    @Override
    public List<ChatCompletionMessageParam> results(List<Call> calls, String text) {
        return calls.stream()
                .map(call -> ChatCompletionToolMessageParam.builder().toolCallId(call.id()).content(text).build())
                .map(ChatCompletionMessageParam::ofTool)
                .toList();
    }

    @Override
    public Answer<ChatCompletionMessageParam> ask(List<ChatCompletionMessageParam> history) {
        ChatCompletion completion = complete(history);
        ChatCompletion.Choice choice = completion.choices().get(0);
        ChatCompletionMessage message = choice.message();
        List<Call> calls =
                message.toolCalls().orElse(List.of()).stream()
                        .map(call -> call.asFunction())
                        .map(call -> new Call(call.id(), call.function().name(), call.function().arguments()))
                        .toList();
        CompletionUsage usage = completion.usage().orElseThrow();
        Turn turn =
                new Turn(
                        message.content().orElse(""),
                        "",
                        calls,
                        choice.finishReason().asString(),
                        List.of(usage.promptTokens(), usage.completionTokens()),
                        0);
        return new Answer<>(turn, List.of(ChatCompletionMessageParam.ofAssistant(message.toParam())));
    }

    private ChatCompletion complete(List<ChatCompletionMessageParam> history) {
        ChatCompletionCreateParams.Builder params = params(history);
        if (Speaker.isWhole(job)) return client.chat().completions().create(params.build());
        params.streamOptions(ChatCompletionStreamOptions.builder().includeUsage(true).build());
        ChatCompletionAccumulator gathered = ChatCompletionAccumulator.create();
        try (StreamResponse<ChatCompletionChunk> stream = client.chat().completions().createStreaming(params.build())) {
            stream.stream().forEach(gathered::accumulate);
        }
        return gathered.chatCompletion();
    }

    private ChatCompletionCreateParams.Builder params(List<ChatCompletionMessageParam> history) {
        ChatCompletionCreateParams.Builder params =
                ChatCompletionCreateParams.builder().model(job.get("model").asText());
        if (job.has("system")) params.addSystemMessage(job.get("system").asText());
        history.forEach(params::addMessage);
        for (JsonNode tool : job.get("tools")) {
            FunctionDefinition.Builder made =
                    FunctionDefinition.builder()
                            .name(tool.get("name").asText())
                            .description(tool.get("description").asText());
            if (tool.has("parameters"))
                made.parameters(
                        FunctionParameters.builder()
                                .putAllAdditionalProperties(
                                        Speaker.members(tool.get("parameters"), JsonValue::fromJsonNode))
                                .build());
            params.addFunctionTool(made.build());
        }
        if (job.has("limit")) params.maxCompletionTokens(job.get("limit").asLong());
        if (job.has("reasons")) params.reasoningEffort(ReasoningEffort.HIGH);
        if (job.has("schema"))
            params.responseFormat(
                    ResponseFormatJsonSchema.builder()
                            .jsonSchema(
                                    ResponseFormatJsonSchema.JsonSchema.builder()
                                            .name("answer")
                                            .strict(true)
                                            .schema(
                                                    ResponseFormatJsonSchema.JsonSchema.Schema.builder()
                                                            .putAllAdditionalProperties(
                                                                    Speaker.members(
                                                                            job.get("schema"),
                                                                            JsonValue::fromJsonNode))
                                                            .build())
                                            .build())
                            .build());
        return params;
    }
}
