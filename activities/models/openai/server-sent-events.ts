/** The data of one server-sent event. */
export interface ServerSentEvent {
  data: string;
  /** False for the data that was pending when the stream ended: it may be cut. */
  complete: boolean;
}

/**
 * Reads the data of server-sent events from pieces of text, which may be split at any point. Comments and other fields
 * are skipped.
 */
export async function* serverSentEvents(pieces: AsyncIterable<string>): AsyncGenerator<ServerSentEvent> {
  let data: string[] = [];
  for await (const line of linesOf(pieces)) {
    if (line !== '') {
      const field = /^\uFEFF?data(?:: ?|$)/.exec(line);
      if (field !== null) data.push(line.slice(field[0].length));
    } else if (data.length > 0) {
      yield { data: data.join('\n'), complete: true };
      data = [];
    }
  }
  if (data.length > 0) yield { data: data.join('\n'), complete: false };
}

async function* linesOf(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  // Joined only at a line break: a long line in many pieces is not copied again and again.
  let pending: string[] = [];
  let afterReturn = false;
  for await (const piece of pieces) {
    // A piece may end within a line break of two characters.
    const text = afterReturn && piece.startsWith('\n') ? piece.slice(1) : piece;
    if (piece !== '') afterReturn = piece.endsWith('\r');
    pending.push(text);
    if (!/[\r\n]/.test(text)) continue;
    const lines = pending.join('').split(/\r\n|\n|\r/);
    pending = [lines.pop() ?? ''];
    yield* lines;
  }
  const last = pending.join('');
  if (last !== '') yield last;
}
