/** The data of one server-sent event. */
export interface ServerSentEvent {
  data: string;
  /** False for what was pending when the stream ended: it may be cut. */
  complete: boolean;
}

/** Reads the data of server-sent events from pieces of text, wherever the pieces are cut. Comments and other fields are skipped. */
export async function* serverSentEvents(pieces: AsyncIterable<string>): AsyncGenerator<ServerSentEvent> {
  let rest = '';
  let data: string[] = [];
  for await (const piece of pieces) {
    // A return at the very end may be the first half of a line break.
    const held = (rest + piece).endsWith('\r') ? '\r' : '';
    const lines = (rest + piece).slice(0, held === '' ? undefined : -1).split(/\r\n|\n|\r/);
    rest = `${lines.pop() ?? ''}${held}`;
    for (const line of lines) {
      if (line !== '') {
        addData(data, line);
      } else if (data.length > 0) {
        yield { data: data.join('\n'), complete: true };
        data = [];
      }
    }
  }
  addData(data, rest.replace(/\r$/, ''));
  if (data.length > 0) yield { data: data.join('\n'), complete: false };
}

function addData(data: string[], line: string): void {
  const field = /^\uFEFF?data(?:: ?|$)/.exec(line);
  if (field !== null) data.push(line.slice(field[0].length));
}
