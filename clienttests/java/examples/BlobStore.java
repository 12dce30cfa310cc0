package stormring.examples;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.blobstore.AtomicOutputStream;
import org.apache.storm.blobstore.ClientBlobStore;
import org.apache.storm.generated.SettableBlobMeta;
import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.topology.base.BaseBasicBolt;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;
import org.apache.storm.utils.Utils;

/**
 * Creates the blob NAME-words and has its bolt read it with each tuple, from the link
 * in its folder: "NUMBER CONTENT". With a third argument it sets the blob's content, and
 * with "-" deletes the blob.
 */
public final class BlobStore {
    private static final String LINK = "words.txt";

    private BlobStore() {
    }

    public static void main(String[] args) throws Exception {
        String key = args[0] + "-words";
        Map<String, Object> all = Utils.readStormConfig();
        try (ClientBlobStore blobs = Utils.getClientBlobStore(all)) {
            if (args.length > 2 && args[2].equals("-")) {
                blobs.deleteBlob(key);
                return;
            }
            if (args.length > 2) {
                write(blobs.updateBlob(key), args[2]);
                return;
            }
            write(blobs.createBlob(key, new SettableBlobMeta(new ArrayList<>())), "first");
        }
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("numbers", new Numbers("source", n -> new Values(n), "number"));
        builder.setBolt("read", new Read(new Seen(args)), 2).shuffleGrouping("numbers");
        Config conf = Run.conf(args);
        conf.put(Config.TOPOLOGY_BLOBSTORE_MAP, Map.of(key, Map.of("localname", LINK, "uncompress", false)));
        Run.submit(args, conf, builder.createTopology());
    }

    private static void write(AtomicOutputStream out, String text) throws IOException {
        out.write(text.getBytes(StandardCharsets.UTF_8));
        out.close();
    }

    private static final class Read extends BaseBasicBolt {
        private final Seen seen;

        Read(Seen seen) {
            this.seen = seen;
        }

        @Override
        public void execute(Tuple input, BasicOutputCollector collector) {
            try {
                seen.write(input.getLong(0), Files.readString(Path.of(LINK)));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
        }
    }
}
