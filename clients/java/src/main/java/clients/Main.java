package clients;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;

/** Says each job to the SDK of its dialect, and prints what the SDK made of the answer: a line of JSON for each job. */
public final class Main {
    static final ObjectMapper JSON = new ObjectMapper();
    private static final String URL = System.getenv("BASE_URL");

    public static void main(String[] args) throws Exception {
        for (JsonNode job : JSON.readTree(System.in)) {
            ObjectNode said = said(job);
            said.put("id", job.get("id").asText());
            System.out.println(JSON.writeValueAsString(said));
        }
        // Connections of the SDKs would keep the process for a while.
        System.exit(0);
    }

    private static ObjectNode said(JsonNode job) {
        String dialect = job.get("dialect").asText();
        ObjectNode said = JSON.createObjectNode();
        if (job.get("strict").asBoolean() && dialect.equals("generate"))
            return said.put("skipped", "types, generate: the SDK has no strict decoding to turn on");
        try (Speaker<?> speaker =
                switch (dialect) {
                    case "chat" -> new Chat(URL, job);
                    case "messages" -> new Messages(URL, job);
                    case "generate" -> new Generate(URL, job);
                    default -> new Responses(URL, job);
                }) {
            try {
                if (job.get("does").asText().equals("models")) {
                    String model = job.get("model").asText();
                    said.set("models", JSON.valueToTree(speaker.models()));
                    return said.put("model", speaker.model(model));
                }
                return said.set("turns", JSON.valueToTree(talk(speaker, job)));
            } catch (Exception error) {
                ObjectNode told = speaker.told(error);
                told.put("class", error.getClass().getSimpleName()).put("message", String.valueOf(error));
                return said.set("error", told);
            }
        }
    }

    private static <Item> List<Speaker.Turn> talk(Speaker<Item> speaker, JsonNode job) {
        List<Item> history = new ArrayList<>();
        history.add(speaker.user(job.get("text").asText() + "x".repeat(job.path("padding").asInt())));
        List<Speaker.Turn> turns = new ArrayList<>();
        while (true) {
            Speaker.Answer<Item> answer = speaker.ask(history);
            turns.add(answer.turn());
            if (answer.turn().calls().isEmpty() || !job.has("result") || turns.size() == 2) return turns;
            history.addAll(answer.said());
            history.addAll(speaker.results(answer.turn().calls(), job.get("result").asText()));
        }
    }
}
