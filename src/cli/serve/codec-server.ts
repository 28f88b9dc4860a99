import { startCodecServer } from '../../codec/codec-server.ts';
import { chosenCodec, encodes } from '../command.ts';
import type { CommandIo } from '../define-command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { untilEnded } from '../terminal.ts';
import type { CodecServerFlags } from '../serve-commands.ts';
import { defined } from '../../core/domain/defined.ts';

/** The environment variable with the token that callers must send as `Authorization: Bearer <token>`. */
const TOKEN_VARIABLE = 'LONGHAUL_CODEC_TOKEN';

/** The default port of a codec server: one above the usual port of the Temporal UI. */
export const USUAL_CODEC_PORT = 8234;

/** The origins of the Temporal UI of a local server. */
const USUAL_ORIGINS = ['http://localhost:8233', 'http://127.0.0.1:8233'];

/** Serves `/encode` and `/decode` for the Temporal UI and CLI, until Ctrl-C. */
export async function codecServer({ terminal, output }: CommandIo, flags: CodecServerFlags): Promise<number> {
  const { env, signal } = terminal;
  const codec = chosenCodec(flags, env);
  const token = env[TOKEN_VARIABLE] || undefined;
  const origins = flags.allowOrigin ?? USUAL_ORIGINS;
  const server = await startCodecServer({
    codec,
    token,
    port: flags.port ?? USUAL_CODEC_PORT,
    allowsOrigin: (origin) => origins.includes(origin),
    onRefusal: reportRefusals((line) => output.note(line)),
    ...defined({ host: flags.host }),
  });
  try {
    if (!encodes(codec)) output.note('There are no encryption keys: what is compressed can be read, and what is encrypted cannot.');
    if (token === undefined) output.note(`${TOKEN_VARIABLE} is not set: every program on this machine can have payloads decoded.`);
    if (output.json) output.printJson({ url: server.url, allowOrigins: origins, token: token !== undefined });
    else {
      output.print(`Codec server at ${server.url} for pages of ${origins.join(', ')}`);
      output.print(
        `\n  temporal workflow show --workflow-id <run> --codec-endpoint ${server.url}${token === undefined ? '' : ` --codec-auth "Bearer $${TOKEN_VARIABLE}"`}`,
      );
      output.print('\nCtrl-C ends it.');
    }
    await untilEnded(signal);
    return EXIT_CODES.ok.code;
  } finally {
    await server.stop();
  }
}

/** Reports why requests are refused, but not the same reason twice in a row: the Temporal CLI retries many times. */
export function reportRefusals(say: (line: string) => void): (line: string) => void {
  let last = '';
  return (line) => {
    if (line !== last) say(`The codec server has refused a request (${line})`);
    last = line;
  };
}
