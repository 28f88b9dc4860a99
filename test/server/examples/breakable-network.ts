import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A network between a browser and a server, which a test cuts: a browser that is set offline keeps the streams that it has. */
export class BreakableNetwork {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isCut = false;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Opens a network to a port of this machine. */
  static async to(port: number): Promise<BreakableNetwork> {
    const server = createServer();
    const network = new BreakableNetwork(server);
    server.on('connection', (socket) => network.#relay(socket, port));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return network;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Breaks all connections, and every further one. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  restore(): void {
    this.#isCut = false;
  }

  close(): void {
    this.cut();
    this.#server.close();
  }

  #relay(socket: Socket, port: number): void {
    if (this.#isCut) {
      socket.resetAndDestroy();
      return;
    }
    const other = connect(port, '127.0.0.1');
    for (const [one, to] of [
      [socket, other],
      [other, socket],
    ] as const) {
      this.#sockets.add(one);
      one.on('error', () => to.destroy());
      one.on('close', () => {
        this.#sockets.delete(one);
        to.destroy();
      });
      one.pipe(to);
    }
  }
}
