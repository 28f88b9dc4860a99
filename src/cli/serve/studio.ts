import { UsageError } from '../../core/domain/errors.ts';
import { withoutEnd } from '../../core/domain/text.ts';
import { listen } from '../../server/node-server.ts';
import { STUDIO_PATH } from '../../server/studio.ts';
import { studioFor } from '../../server/studio-elsewhere.ts';
import { portIfFree } from '../../dev-server/start-flags.ts';
import type { CommandIo, FlagsOf } from '../define-command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import type { STUDIO } from '../serve-commands.ts';
import { untilEnded } from '../terminal.ts';

/** Next to the port of the HTTP service. */
const USUAL_PORT = 8788;

/** Serves Studio on this machine for a service elsewhere, until Ctrl-C. */
export async function studio({ terminal, output }: CommandIo, flags: FlagsOf<typeof STUDIO>): Promise<number> {
  const service = serviceAddress(flags.url);
  const port = flags.port ?? (await portIfFree(USUAL_PORT)) ?? 0;
  const server = await listen(studioFor(service), { host: '127.0.0.1', port });
  try {
    const studioUrl = `${server.url}${STUDIO_PATH}`;
    if (output.json) output.printJson({ studioUrl, url: service });
    else output.print(`Studio: ${studioUrl} for ${service}\n\nCtrl-C ends it.`);
    await untilEnded(terminal.signal);
    return EXIT_CODES.ok.code;
  } finally {
    await server.close(0);
  }
}

/** Returns the address without a trailing slash. Throws a UsageError for an address that is not HTTP or contains credentials. */
function serviceAddress(text: string | undefined): string {
  if (text === undefined) throw new UsageError('Which service? Write --url with its address, such as --url https://agents.acme.example');
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new UsageError(`"${text}" is not the address of a service: write --url https://…`);
  if (url.username !== '' || url.password !== '' || url.search !== '')
    throw new UsageError('--url has credentials or a query in it: write only the address, and give the key to the page');
  return withoutEnd(`${url.origin}${url.pathname}`, '/');
}
