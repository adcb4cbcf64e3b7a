package switchyard;

import de.bwaldvogel.mongo.MongoBackend;
import de.bwaldvogel.mongo.wire.MongoDatabaseHandler;
import de.bwaldvogel.mongo.wire.MongoExceptionHandler;
import de.bwaldvogel.mongo.wire.MongoWireMessageEncoder;
import de.bwaldvogel.mongo.wire.MongoWireReplyEncoder;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import java.net.SocketAddress;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Serves a backend at an address. Copy of mongo-java-server's server with our own {@link RequestDecoder}. */
final class Server {

  private static final int ACCEPTING_THREADS = 1;

  /** Each thread serves its connections one after the other, and blocks while a writer waits for the disk. */
  private static final int SERVING_THREADS = 32;

  /** Connections waiting to be accepted. */
  private static final int BACKLOG = 100;

  /** Time for unfinished answers at shutdown. */
  private static final int SHUTDOWN_SECONDS_MAX = 5;

  private final MongoBackend backend;
  private final EventLoopGroup accepting = eventLoops(ACCEPTING_THREADS);
  private final EventLoopGroup serving = eventLoops(SERVING_THREADS);
  private final ChannelGroup clients = new DefaultChannelGroup(serving.next());
  private final Channel socket;

  /** Binds the address and starts serving. */
  Server(MongoBackend backend, SocketAddress address) {
    this.backend = backend;
    try {
      socket = bind(address);
    } catch (Throwable error) {
      endLoops(); // their threads would keep the process alive
      throw error;
    }
  }

  private Channel bind(SocketAddress address) {
    return new ServerBootstrap()
        .group(accepting, serving)
        .channel(NioServerSocketChannel.class)
        .option(ChannelOption.SO_BACKLOG, BACKLOG)
        .childOption(ChannelOption.TCP_NODELAY, true)
        .childHandler(
            new ChannelInitializer<SocketChannel>() {
              @Override
              public void initChannel(SocketChannel client) {
                client
                    .pipeline()
                    .addLast(new MongoWireReplyEncoder())
                    .addLast(new MongoWireMessageEncoder())
                    .addLast(new RequestDecoder())
                    .addLast(new MongoDatabaseHandler(backend, clients))
                    .addLast(new MongoExceptionHandler());
              }
            })
        .bind(address)
        .syncUninterruptibly()
        .channel();
  }

  private static EventLoopGroup eventLoops(int threads) {
    return new MultiThreadIoEventLoopGroup(threads, NioIoHandler.newFactory());
  }

  /** Stops accepting requests, closes the connections, and closes the backend. */
  void shutdown() {
    socket.close().syncUninterruptibly();
    clients.close().syncUninterruptibly();
    endLoops();
    backend.close();
  }

  private void endLoops() {
    var loops = List.of(accepting, serving);
    for (EventLoopGroup one : loops) one.shutdownGracefully(0, SHUTDOWN_SECONDS_MAX, TimeUnit.SECONDS);
    for (EventLoopGroup one : loops) one.terminationFuture().syncUninterruptibly();
  }
}
