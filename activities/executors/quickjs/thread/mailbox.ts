import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';

/** Receives messages while the thread blocks: `wake` is raised by the executor with each message. */
export class Mailbox {
  private readonly port: MessagePort;
  private readonly wake: Int32Array;

  constructor(port: MessagePort, wake: SharedArrayBuffer) {
    this.port = port;
    this.wake = new Int32Array(wake);
  }

  /** Waits for the next message. The end of the thread ends the wait. */
  receive(): unknown {
    for (;;) {
      const seen = Atomics.load(this.wake, 0);
      const received = receiveMessageOnPort(this.port);
      if (received !== undefined) return received.message;
      Atomics.wait(this.wake, 0, seen);
    }
  }
}
