package clients;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.errors.OpenAIServiceException;
import com.openai.models.models.Model;
import java.util.ArrayList;
import java.util.List;

/** What both dialects of the official OpenAI SDK share. */
abstract class OpenAi<Item> implements Speaker<Item> {
    final JsonNode job;
    final OpenAIClient client;

    OpenAi(String url, JsonNode job) {
        this.job = job;
        client =
                OpenAIOkHttpClient.builder()
                        .baseUrl(url + "/v1")
                        .apiKey(job.get("key").asText())
                        .maxRetries(job.get("retries").asInt())
                        .responseValidation(job.get("strict").asBoolean())
                        .build();
    }

    @Override
    public List<String> models() {
        List<String> names = new ArrayList<>();
        for (Model model : client.models().list().autoPager()) names.add(model.id());
        return names;
    }

    @Override
    public String model(String name) {
        return client.models().retrieve(name).id();
    }

    @Override
    public ObjectNode told(Exception error) {
        ObjectNode told = Main.JSON.createObjectNode().put("told", error instanceof OpenAIServiceException);
        if (error instanceof OpenAIServiceException known) {
            told.put("status", known.statusCode()).put("word", known.type().orElse(null));
            known.headers().values("retry-after").forEach(value -> told.put("retry_after", value));
        }
        return told;
    }

    @Override
    public void close() {
        client.close();
    }
}
