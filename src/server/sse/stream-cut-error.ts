/**
 * The error of a body that breaks off, of the kind by which clients know a connection that breaks. The server that sends the body may print
 * it, so it has no cause and no stack: the failure is reported by itself.
 */
export class StreamCutError extends TypeError {
  override readonly name = 'StreamCutError';

  constructor() {
    super('network error: the stream was cut');
    this.stack = `${this.name}: ${this.message}`;
  }
}
