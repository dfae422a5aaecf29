package clients;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.openai.core.JsonValue;
import com.openai.core.http.StreamResponse;
import com.openai.helpers.ResponseAccumulator;
import com.openai.models.Reasoning;
import com.openai.models.ReasoningEffort;
import com.openai.models.responses.EasyInputMessage;
import com.openai.models.responses.FunctionTool;
import com.openai.models.responses.Response;
import com.openai.models.responses.ResponseCreateParams;
import com.openai.models.responses.ResponseFormatTextJsonSchemaConfig;
import com.openai.models.responses.ResponseFunctionToolCall;
import com.openai.models.responses.ResponseIncludable;
import com.openai.models.responses.ResponseInputItem;
import com.openai.models.responses.ResponseOutputItem;
import com.openai.models.responses.ResponseStreamEvent;
import com.openai.models.responses.ResponseTextConfig;
import com.openai.models.responses.ResponseUsage;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The official OpenAI SDK, responses. */
final class Responses extends OpenAi<ResponseInputItem> {
    /** An error that the SDK returns as an event of the stream, which its caller must check. */
    private static final class Event extends RuntimeException {
        Event(ResponseStreamEvent event) {
            super(String.valueOf(event));
        }
    }

    /** The most items of the last stream that were open at once. */
    private int most;

    Responses(String url, JsonNode job) {
        super(url, job);
    }

    @Override
    public ResponseInputItem user(String text) {
        return ResponseInputItem.ofEasyInputMessage(
                EasyInputMessage.builder().role(EasyInputMessage.Role.USER).content(text).build());
    }

    @Override
    public List<ResponseInputItem> results(List<Call> calls, String text) {
        return calls.stream()
                .map(call -> ResponseInputItem.FunctionCallOutput.builder().callId(call.id()).output(text).build())
                .map(ResponseInputItem::ofFunctionCallOutput)
                .toList();
    }

    @Override
    public Answer<ResponseInputItem> ask(List<ResponseInputItem> history) {
        Response response = respond(history);
        StringBuilder text = new StringBuilder();
        StringBuilder thought = new StringBuilder();
        List<Call> calls = new ArrayList<>();
        List<ResponseInputItem> said = new ArrayList<>();
        for (ResponseOutputItem item : response.output()) {
            if (item.isMessage()) {
                item.asMessage().content().forEach(part -> part.outputText().ifPresent(it -> text.append(it.text())));
                said.add(ResponseInputItem.ofResponseOutputMessage(item.asMessage()));
            } else if (item.isReasoning()) {
                item.asReasoning().summary().forEach(part -> thought.append(part.text()));
                said.add(ResponseInputItem.ofReasoning(item.asReasoning()));
            } else {
                ResponseFunctionToolCall call = item.asFunctionCall();
                calls.add(new Call(call.callId(), call.name(), call.arguments()));
                said.add(ResponseInputItem.ofFunctionCall(call));
            }
        }
        ResponseUsage usage = response.usage().orElseThrow();
        String finish =
                response.incompleteDetails()
                        .flatMap(details -> details.reason())
                        .map(reason -> reason.asString())
                        .orElseGet(() -> response.status().orElseThrow().asString());
        List<Long> counts = List.of(usage.inputTokens(), usage.outputTokens());
        return new Answer<>(new Turn(text.toString(), thought.toString(), calls, finish, counts, most), said);
    }

    private Response respond(List<ResponseInputItem> history) {
        ResponseCreateParams params = params(history);
        if (Speaker.isWhole(job)) return client.responses().create(params);
        ResponseAccumulator gathered = ResponseAccumulator.create();
        int[] open = {0};
        try (StreamResponse<ResponseStreamEvent> stream = client.responses().createStreaming(params)) {
            stream.stream()
                    .forEach(
                            event -> {
                                if (event.isError() || event.isFailed()) throw new Event(event);
                                open[0] += event.isOutputItemAdded() ? 1 : event.isOutputItemDone() ? -1 : 0;
                                most = Math.max(most, open[0]);
                                gathered.accumulate(event);
                            });
        }
        return gathered.response();
    }

    private ResponseCreateParams params(List<ResponseInputItem> history) {
        ResponseCreateParams.Builder params =
                ResponseCreateParams.builder()
                        .model(job.get("model").asText())
                        .inputOfResponse(history)
                        .store(false)
                        .addInclude(ResponseIncludable.REASONING_ENCRYPTED_CONTENT);
        if (job.has("system")) params.instructions(job.get("system").asText());
        for (JsonNode tool : job.get("tools")) {
            Optional<FunctionTool.Parameters> parameters =
                    Optional.ofNullable(tool.get("parameters"))
                            .map(
                                    schema ->
                                            FunctionTool.Parameters.builder()
                                                    .putAllAdditionalProperties(
                                                            Speaker.members(schema, JsonValue::fromJsonNode))
                                                    .build());
            params.addTool(
                    FunctionTool.builder()
                            .name(tool.get("name").asText())
                            .description(tool.get("description").asText())
                            .parameters(parameters)
                            .strict(false)
                            .build());
        }
        if (job.has("limit")) params.maxOutputTokens(job.get("limit").asLong());
        if (job.has("reasons"))
            params.reasoning(
                    Reasoning.builder().effort(ReasoningEffort.HIGH).summary(Reasoning.Summary.AUTO).build());
        if (job.has("schema"))
            params.text(
                    ResponseTextConfig.builder()
                            .format(
                                    ResponseFormatTextJsonSchemaConfig.builder()
                                            .name("answer")
                                            .strict(true)
                                            .schema(
                                                    ResponseFormatTextJsonSchemaConfig.Schema.builder()
                                                            .putAllAdditionalProperties(
                                                                    Speaker.members(
                                                                            job.get("schema"),
                                                                            JsonValue::fromJsonNode))
                                                            .build())
                                            .build())
                            .build());
        return params.build();
    }

    @Override
    public ObjectNode told(Exception error) {
        return error instanceof Event ? Main.JSON.createObjectNode().put("told", true) : super.told(error);
    }
}
