import type { Message } from './program-process.ts';

/**
 * The side of a program that `ProgramProcess` starts. Loads nothing, because the memory of some programs is measured.
 */

/** Reads the setting of this program, and makes it end with its parent process, however that ends. */
export function readSetting<Setting>(): Setting {
  process.once('disconnect', () => process.exit());
  // Ctrl-C in a terminal reaches this process too; the parent ends it.
  process.on('SIGINT', () => undefined);
  return JSON.parse(process.argv[2] ?? '') as Setting;
}

/** Sends a message to the process that started this program: `ready` once it works. */
export function reply<Reply extends Message>(message: Reply): void {
  process.send?.(message);
}

/** The work for each type of request. What it returns is sent. */
export type Answers<Request extends Message, Reply extends Message> = {
  [Type in Request['type']]: (request: Extract<Request, { type: Type }>) => Reply | Promise<Reply> | void | Promise<void>;
};

/** Says that the program works, and answers requests from now on. */
export function answerRequests<Request extends Message, Reply extends Message>(
  answers: Answers<Request, Exclude<Reply, { type: 'ready' }>>,
): void {
  process.on('message', (request: Request) => void answer(request));
  reply({ type: 'ready' });

  async function answer(request: Request): Promise<void> {
    const work = answers[request.type as Request['type']] as (asked: Request) => Promise<Message | undefined>;
    const message = await work(request);
    if (message !== undefined) reply(message);
  }
}

/** An answer to the request to stop: does the last work, and ends the process. */
export function endAfter(work: () => Promise<unknown> = () => Promise.resolve()): () => Promise<void> {
  return async () => {
    await work();
    process.exit();
  };
}
