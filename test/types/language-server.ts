import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { pathToFileURL } from 'node:url';

interface Message {
  id?: number | string;
  method?: string;
  params?: { items?: unknown[] };
  result?: unknown;
  error?: { message: string };
}

/** The language server of the compiler, as an editor talks to it. */
export class LanguageServer implements AsyncDisposable {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #waiting = new Map<number, (message: Message) => void>();
  #buffer = Buffer.alloc(0);
  #next = 1;

  private constructor(child: ChildProcessWithoutNullStreams) {
    this.#child = child;
    child.stdout.on('data', (piece: Buffer) => this.#take(piece));
    // Its log is of no use here, and would fill the pipe.
    child.stderr.resume();
    child.on('exit', () => {
      for (const answer of this.#waiting.values()) answer({ error: { message: 'The language server has ended' } });
    });
  }

  /** Starts the server for a folder. `tsc`: the path of the compiler. */
  static async start(tsc: string, folder: string): Promise<LanguageServer> {
    const server = new LanguageServer(spawn(process.execPath, [tsc, '--lsp', '--stdio'], { cwd: folder }));
    const uri = pathToFileURL(folder).href;
    await server.#request('initialize', {
      processId: process.pid,
      rootUri: uri,
      workspaceFolders: [{ uri, name: 'test' }],
      capabilities: { textDocument: { completion: { completionItem: {} } } },
    });
    server.#send({ method: 'initialized', params: {} });
    return server;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null) return;
    this.#child.kill('SIGKILL');
    await once(this.#child, 'exit');
  }

  /** Returns the server's completions at a place of a file, which is given as a text: the names in the order of the list. */
  async completions(file: string, text: string, offset: number): Promise<string[]> {
    const uri = pathToFileURL(file).href;
    this.#send({ method: 'textDocument/didOpen', params: { textDocument: { uri, languageId: 'typescript', version: 1, text } } });
    const before = text.slice(0, offset).split('\n');
    const position = { line: before.length - 1, character: before.at(-1)?.length ?? 0 };
    const result = await this.#request('textDocument/completion', { textDocument: { uri }, position });
    this.#send({ method: 'textDocument/didClose', params: { textDocument: { uri } } });
    const items = (Array.isArray(result) ? result : ((result as { items?: unknown[] } | null)?.items ?? [])) as { label: string }[];
    return items.map(({ label }) => label.replace(/\?$/, ''));
  }

  async #request(method: string, params: object): Promise<unknown> {
    const id = this.#next;
    this.#next += 1;
    const answered = new Promise<Message>((resolve) => this.#waiting.set(id, resolve));
    this.#send({ id, method, params });
    const { result, error } = await answered;
    this.#waiting.delete(id);
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  #send(message: object): void {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message });
    this.#child.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  }

  #take(piece: Buffer): void {
    this.#buffer = Buffer.concat([this.#buffer, piece]);
    for (;;) {
      const end = this.#buffer.indexOf('\r\n\r\n');
      const [, size = ''] = /Content-Length: (\d+)/i.exec(this.#buffer.subarray(0, Math.max(0, end)).toString()) ?? [];
      if (end < 0 || this.#buffer.length < end + 4 + Number(size)) return;
      const message = JSON.parse(this.#buffer.subarray(end + 4, end + 4 + Number(size)).toString()) as Message;
      this.#buffer = this.#buffer.subarray(end + 4 + Number(size));
      this.#react(message);
    }
  }

  #react(message: Message): void {
    const { id, method, params } = message;
    // The server's requests to an editor, such as for its settings: there are none.
    if (method !== undefined && id !== undefined) this.#send({ id, result: params?.items?.map(() => null) ?? null });
    else if (typeof id === 'number') this.#waiting.get(id)?.(message);
  }
}
