package switchyard;

import de.bwaldvogel.mongo.MongoVersion;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.List;

/**
 * The stand-in for MongoDB on machines that have neither a server nor an image: mongo-java-server over one H2 file. It
 * adds the durability that billing needs: an acknowledged write is in the file and survives {@code kill -9}.
 *
 * <p>Usage: {@code java -cp 'lib/*' switchyard.StandIn <file> <port> [host]}. Prints {@code ready} when it serves.
 * SIGTERM closes the file; without SIGTERM nothing is lost.
 */
public final class StandIn {

  /** The oldest version that current official drivers accept in their handshake. */
  private record Version(List<Integer> getVersionArray, int getWireVersion) implements MongoVersion {}

  private static final Version MONGO_5_0 = new Version(List.of(5, 0, 0), 13);

  /** Only this machine may connect by default, because there are no users and no passwords. */
  private static final String HOST_DEFAULT = "127.0.0.1";

  private StandIn() {}

  public static void main(String[] arguments) throws InterruptedException {
    if (arguments.length < 2 || arguments.length > 3) {
      System.err.println("usage: StandIn <file> <port> [host]");
      System.exit(2);
    }
    var store = DurableStore.open(Path.of(arguments[0]));
    var backend = new CommittingBackend(store);
    backend.version(MONGO_5_0);
    var host = arguments.length == 3 ? arguments[2] : HOST_DEFAULT;
    var server = new Server(backend, new InetSocketAddress(host, Integer.parseInt(arguments[1])));
    Runtime.getRuntime().addShutdownHook(new Thread(server::shutdown, "shutdown"));
    System.out.println("ready");
    Thread.currentThread().join();
  }
}
