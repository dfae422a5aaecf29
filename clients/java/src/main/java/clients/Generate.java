package clients;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.genai.Client;
import com.google.genai.ResponseStream;
import com.google.genai.errors.ApiException;
import com.google.genai.types.Content;
import com.google.genai.types.FunctionCall;
import com.google.genai.types.FunctionDeclaration;
import com.google.genai.types.FunctionResponse;
import com.google.genai.types.GenerateContentConfig;
import com.google.genai.types.GenerateContentResponse;
import com.google.genai.types.GenerateContentResponseUsageMetadata;
import com.google.genai.types.HttpOptions;
import com.google.genai.types.HttpRetryOptions;
import com.google.genai.types.ListModelsConfig;
import com.google.genai.types.Model;
import com.google.genai.types.Part;
import com.google.genai.types.ThinkingConfig;
import com.google.genai.types.Tool;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The official Gemini SDK. It collects no streams: callers join the parts. */
final class Generate implements Speaker<Content> {
    private final JsonNode job;
    private final Client client;

    Generate(String url, JsonNode job) {
        this.job = job;
        HttpRetryOptions retries = HttpRetryOptions.builder().attempts(job.get("retries").asInt() + 1).build();
        client =
                Client.builder()
                        .apiKey(job.get("key").asText())
                        .httpOptions(HttpOptions.builder().baseUrl(url).retryOptions(retries).build())
                        .build();
    }

    @Override
    public Content user(String text) {
        return Content.builder().role("user").parts(Part.fromText(text)).build();
    }

    @Override
    public List<Content> results(List<Call> calls, String text) {
        List<Part> parts = new ArrayList<>();
        for (Call call : calls) {
            FunctionResponse.Builder result =
                    FunctionResponse.builder().name(call.name()).response(Map.of("output", text));
            if (call.id() != null) result.id(call.id());
            parts.add(Part.builder().functionResponse(result.build()).build());
        }
        return List.of(Content.builder().role("user").parts(parts).build());
    }

    @Override
    public Answer<Content> ask(List<Content> history) {
        List<GenerateContentResponse> answers = answers(history);
        List<Part> parts = new ArrayList<>();
        for (GenerateContentResponse answer : answers)
            answer.candidates().orElseThrow().get(0).content().flatMap(Content::parts).ifPresent(parts::addAll);
        StringBuilder text = new StringBuilder();
        StringBuilder thought = new StringBuilder();
        List<Call> calls = new ArrayList<>();
        for (Part part : parts) {
            part.functionCall().ifPresent(call -> calls.add(call(call)));
            part.text().ifPresent(part.thought().orElse(false) ? thought::append : text::append);
        }
        GenerateContentResponse last = answers.get(answers.size() - 1);
        GenerateContentResponseUsageMetadata usage = last.usageMetadata().orElseThrow();
        long output = usage.candidatesTokenCount().orElse(0) + usage.thoughtsTokenCount().orElse(0);
        Turn turn =
                new Turn(
                        text.toString(),
                        thought.toString(),
                        calls,
                        last.candidates().orElseThrow().get(0).finishReason().orElseThrow().toString(),
                        List.of((long) usage.promptTokenCount().orElseThrow(), output),
                        0);
        return new Answer<>(turn, List.of(Content.builder().role("model").parts(parts).build()));
    }

    private static Call call(FunctionCall call) {
        try {
            String args = Main.JSON.writeValueAsString(call.args().orElse(Map.of()));
            return new Call(call.id().orElse(null), call.name().orElseThrow(), args);
        } catch (JsonProcessingException error) {
            throw new IllegalStateException(error);
        }
    }

    private List<GenerateContentResponse> answers(List<Content> history) {
        String model = job.get("model").asText();
        if (Speaker.isWhole(job)) return List.of(client.models.generateContent(model, history, config()));
        List<GenerateContentResponse> answers = new ArrayList<>();
        try (ResponseStream<GenerateContentResponse> stream =
                client.models.generateContentStream(model, history, config())) {
            stream.forEach(answers::add);
        }
        return answers;
    }

    private GenerateContentConfig config() {
        GenerateContentConfig.Builder config = GenerateContentConfig.builder();
        if (job.has("system")) config.systemInstruction(Content.fromParts(Part.fromText(job.get("system").asText())));
        List<FunctionDeclaration> declared = new ArrayList<>();
        for (JsonNode tool : job.get("tools")) {
            FunctionDeclaration.Builder made =
                    FunctionDeclaration.builder()
                            .name(tool.get("name").asText())
                            .description(tool.get("description").asText());
            if (tool.has("parameters")) made.parametersJsonSchema(tool.get("parameters"));
            declared.add(made.build());
        }
        if (!declared.isEmpty()) config.tools(Tool.builder().functionDeclarations(declared).build());
        if (job.has("limit")) config.maxOutputTokens(job.get("limit").asInt());
        if (job.has("reasons"))
            config.thinkingConfig(ThinkingConfig.builder().includeThoughts(true).thinkingBudget(8192).build());
        if (job.has("schema")) config.responseMimeType("application/json").responseJsonSchema(job.get("schema"));
        return config.build();
    }

    @Override
    public List<String> models() {
        List<String> names = new ArrayList<>();
        for (Model model : client.models.list(ListModelsConfig.builder().build())) names.add(bare(model));
        return names;
    }

    @Override
    public String model(String name) {
        return bare(client.models.get(name, null));
    }

    private static String bare(Model model) {
        return model.name().orElseThrow().replaceFirst("^models/", "");
    }

    @Override
    public ObjectNode told(Exception error) {
        ObjectNode told = Main.JSON.createObjectNode().put("told", error instanceof ApiException);
        if (error instanceof ApiException known) told.put("status", known.code()).put("word", known.status());
        return told;
    }

    @Override
    public void close() {
        client.close();
    }
}
