import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { portOf } from '../../../src/dev-server/start-flags.ts';

const LOCALHOST = '127.0.0.1';
const LOOK_MS = 100;
const LOOK_WITHIN_MS = 1_500;

/**
 * A proxy that distributes connections to the instances of a service. It takes one out while its `/readyz` is not 200 or it refuses
 * connections. If none is ready, it tries all, as proxies do; if none takes the connection, it is cut.
 */
export class BalancingProxy {
  readonly url: string;
  readonly #ports: readonly number[];
  readonly #server: Server;
  readonly #ready = new Set<number>();
  readonly #sockets = new Set<Socket>();
  readonly #closed = new AbortController();
  #turn = 0;

  private constructor(ports: readonly number[], server: Server) {
    this.#ports = ports;
    this.#server = server;
    this.url = `http://${LOCALHOST}:${portOf(server)}`;
    server.on('connection', (near) => this.#pass(near, this.#candidates()));
    for (const port of ports) void this.#watch(port);
  }

  static async start(ports: readonly number[]): Promise<BalancingProxy> {
    const server = createServer();
    server.listen(0, LOCALHOST);
    await once(server, 'listening');
    return new BalancingProxy(ports, server);
  }

  /** The ports of the instances that are ready. */
  get ready(): readonly number[] {
    return [...this.#ready];
  }

  async close(): Promise<void> {
    this.#closed.abort();
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** Returns the ports to try: those that are ready by turns, and then the others. */
  #candidates(): number[] {
    const start = this.#turn++ % this.#ports.length;
    const inTurn = [...this.#ports.slice(start), ...this.#ports.slice(0, start)];
    const isReady = (port: number): boolean => this.#ready.has(port);
    const ready = inTurn.filter(isReady);
    return ready.length > 0 ? ready : inTurn;
  }

  #pass(near: Socket, [port, ...others]: number[]): void {
    if (port === undefined) return void near.destroy();
    near.on('error', () => undefined);
    const far = connect(port, LOCALHOST);
    const refused = (): void => {
      this.#ready.delete(port);
      this.#pass(near, others);
    };
    far.once('error', refused);
    far.once('connect', () => {
      far.off('error', refused);
      for (const [one, other] of [[near, far] as const, [far, near] as const]) {
        this.#sockets.add(one);
        one.on('error', () => other.destroy());
        one.on('close', () => {
          this.#sockets.delete(one);
          other.destroy();
        });
        one.pipe(other);
      }
    });
  }

  async #watch(port: number): Promise<void> {
    const { signal } = this.#closed;
    while (!signal.aborted) {
      const isReady = await fetch(`http://${LOCALHOST}:${port}/readyz`, {
        signal: AbortSignal.any([signal, AbortSignal.timeout(LOOK_WITHIN_MS)]),
      })
        .then(async (response) => {
          await response.body?.cancel();
          return response.status === 200;
        })
        .catch(() => false);
      if (isReady) this.#ready.add(port);
      else this.#ready.delete(port);
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }
}
