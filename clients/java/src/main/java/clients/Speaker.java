package clients;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** An SDK; an `Item` is a piece of its history. */
interface Speaker<Item> extends AutoCloseable {
    record Call(String id, String name, String args) {}

    /** `open` is the largest number of blocks of a stream that were open at once. */
    record Turn(String text, String thought, List<Call> calls, String finish, List<Long> usage, int open) {}

    record Answer<Item>(Turn turn, List<Item> said) {}

    Item user(String text);

    List<Item> results(List<Call> calls, String text);

    Answer<Item> ask(List<Item> history);

    List<String> models();

    String model(String name);

    /** The answer in an exception, as far as it has one. */
    ObjectNode told(Exception error);

    @Override
    void close();

    static boolean isWhole(JsonNode job) {
        return job.get("mode").asText().equals("whole");
    }

    /** The members of a JSON object as the values of an SDK. */
    static <Value> Map<String, Value> members(JsonNode object, Function<JsonNode, Value> value) {
        Map<String, Value> members = new LinkedHashMap<>();
        object.fields().forEachRemaining(field -> members.put(field.getKey(), value.apply(field.getValue())));
        return members;
    }
}
