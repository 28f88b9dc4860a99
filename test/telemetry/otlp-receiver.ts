import { createServer } from 'node:http';
import type { OtlpTraces } from '../../src/telemetry/otlp.ts';
import { readProtobufTraces } from './otlp-protobuf.ts';

type OtlpSpan = OtlpTraces['resourceSpans'][number]['scopeSpans'][number]['spans'][number];

/** A span as a collector got it. */
export interface ReceivedSpan extends OtlpSpan {
  /** The attributes of its process. */
  resource: Record<string, unknown>;
  values: Record<string, unknown>;
}

/** A collector that keeps the spans that it gets, in the JSON form of OTLP over HTTP or the binary one. */
export class OtlpReceiver {
  readonly spans: ReceivedSpan[] = [];
  readonly headers: NodeJS.Dict<string | string[]>[] = [];
  /** Answers with that status instead of 200. */
  status = 200;
  /** The type of requests that it does not take, as some backends do not take JSON. */
  refused: string | undefined;
  readonly #server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      this.headers.push(request.headers);
      const isBinary = request.headers['content-type'] === 'application/x-protobuf';
      const body = Buffer.concat(chunks);
      const status = request.headers['content-type'] === this.refused ? 415 : this.status;
      if (status === 200 && request.url === '/v1/traces')
        this.add(isBinary ? readProtobufTraces(body) : (JSON.parse(body.toString()) as OtlpTraces));
      response.writeHead(status, { 'content-type': isBinary ? 'application/x-protobuf' : 'application/json' }).end(isBinary ? '' : '{}');
    });
  });

  static async listen(): Promise<OtlpReceiver> {
    const receiver = new OtlpReceiver();
    await new Promise<void>((resolve) => receiver.#server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get url(): string {
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  }

  /** Keeps the spans of a request. */
  add({ resourceSpans }: OtlpTraces): void {
    for (const { resource, scopeSpans } of resourceSpans) {
      const known = valuesOf(resource.attributes);
      for (const span of scopeSpans.flatMap(({ spans }) => spans)) {
        this.spans.push({ ...span, resource: known, values: valuesOf(span.attributes) });
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function valuesOf(attributes: OtlpSpan['attributes']): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
