package clients;

import com.anthropic.client.AnthropicClient;
import com.anthropic.client.okhttp.AnthropicOkHttpClient;
import com.anthropic.core.JsonValue;
import com.anthropic.core.ObjectMappers;
import com.anthropic.core.http.StreamResponse;
import com.anthropic.errors.AnthropicServiceException;
import com.anthropic.helpers.MessageAccumulator;
import com.anthropic.models.messages.ContentBlock;
import com.anthropic.models.messages.ContentBlockParam;
import com.anthropic.models.messages.JsonOutputFormat;
import com.anthropic.models.messages.Message;
import com.anthropic.models.messages.MessageCreateParams;
import com.anthropic.models.messages.MessageParam;
import com.anthropic.models.messages.OutputConfig;
import com.anthropic.models.messages.RawMessageStreamEvent;
import com.anthropic.models.messages.Tool;
import com.anthropic.models.messages.ToolResultBlockParam;
import com.anthropic.models.messages.ToolUseBlock;
import com.anthropic.models.models.ModelInfo;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;

/** The official Anthropic SDK. */
final class Messages implements Speaker<MessageParam> {
    private final JsonNode job;
    private final AnthropicClient client;

    /** The most blocks of the last stream that were open at once. */
    private int most;

    Messages(String url, JsonNode job) {
        this.job = job;
        client =
                AnthropicOkHttpClient.builder()
                        .baseUrl(url)
                        .apiKey(job.get("key").asText())
                        .maxRetries(job.get("retries").asInt())
                        .responseValidation(job.get("strict").asBoolean())
                        .build();
    }

    @Override
    public MessageParam user(String text) {
        return MessageParam.ofUser(text);
    }

    @Override
    public List<MessageParam> results(List<Call> calls, String text) {
        List<ContentBlockParam> blocks =
                calls.stream()
                        .map(call -> ToolResultBlockParam.builder().toolUseId(call.id()).content(text).build())
                        .map(ContentBlockParam::ofToolResult)
                        .toList();
        return List.of(MessageParam.ofUserOfContentBlockParams(blocks));
    }

    @Override
    public Answer<MessageParam> ask(List<MessageParam> history) {
        Message message = say(history);
        StringBuilder text = new StringBuilder();
        StringBuilder thought = new StringBuilder();
        List<Call> calls = new ArrayList<>();
        for (ContentBlock block : message.content()) {
            if (block.isText()) text.append(block.asText().text());
            if (block.isThinking()) thought.append(block.asThinking().thinking());
            if (block.isToolUse()) calls.add(call(block.asToolUse()));
        }
        String finish = message.stopReason().orElseThrow().asString();
        List<Long> usage = List.of(message.usage().inputTokens(), message.usage().outputTokens());
        Turn turn = new Turn(text.toString(), thought.toString(), calls, finish, usage, most);
        return new Answer<>(turn, List.of(message.toParam()));
    }

    private static Call call(ToolUseBlock block) {
        try {
            String input = ObjectMappers.jsonMapper().writeValueAsString(block._input());
            return new Call(block.id(), block.name(), input);
        } catch (JsonProcessingException error) {
            throw new IllegalStateException(error);
        }
    }

    private Message say(List<MessageParam> history) {
        MessageCreateParams params = params(history);
        if (Speaker.isWhole(job)) return client.messages().create(params);
        MessageAccumulator gathered = MessageAccumulator.create();
        int[] open = {0};
        try (StreamResponse<RawMessageStreamEvent> stream = client.messages().createStreaming(params)) {
            stream.stream()
                    .forEach(
                            event -> {
                                open[0] += event.isContentBlockStart() ? 1 : event.isContentBlockStop() ? -1 : 0;
                                most = Math.max(most, open[0]);
                                gathered.accumulate(event);
                            });
        }
        return gathered.message();
    }

    private MessageCreateParams params(List<MessageParam> history) {
        MessageCreateParams.Builder params =
                MessageCreateParams.builder()
                        .model(job.get("model").asText())
                        .maxTokens(job.path("limit").asLong(16_000))
                        .messages(history);
        if (job.has("system")) params.system(job.get("system").asText());
        for (JsonNode tool : job.get("tools"))
            params.addTool(
                    Tool.builder()
                            .name(tool.get("name").asText())
                            .description(tool.get("description").asText())
                            .inputSchema(schema(tool.path("parameters")))
                            .build());
        if (job.has("reasons")) params.enabledThinking(8192);
        if (job.has("schema"))
            params.outputConfig(
                    OutputConfig.builder()
                            .format(
                                    JsonOutputFormat.builder()
                                            .schema(
                                                    JsonOutputFormat.Schema.builder()
                                                            .putAllAdditionalProperties(
                                                                    Speaker.members(
                                                                            job.get("schema"),
                                                                            JsonValue::fromJsonNode))
                                                            .build())
                                            .build())
                            .build());
        return params.build();
    }

    private static Tool.InputSchema schema(JsonNode parameters) {
        Tool.InputSchema.Builder schema = Tool.InputSchema.builder();
        Speaker.members(parameters, JsonValue::fromJsonNode)
                .forEach((name, value) -> schema.putAdditionalProperty(name, value));
        return schema.build();
    }

    @Override
    public List<String> models() {
        List<String> names = new ArrayList<>();
        for (ModelInfo model : client.models().list().autoPager()) names.add(model.id());
        return names;
    }

    @Override
    public String model(String name) {
        return client.models().retrieve(name).id();
    }

    @Override
    public ObjectNode told(Exception error) {
        ObjectNode told = Main.JSON.createObjectNode().put("told", error instanceof AnthropicServiceException);
        if (error instanceof AnthropicServiceException known) {
            told.put("status", known.statusCode()).put("word", known.errorType().map(type -> type.asString()).orElse(null));
            known.headers().values("retry-after").forEach(value -> told.put("retry_after", value));
        }
        return told;
    }

    @Override
    public void close() {
        client.close();
    }
}
