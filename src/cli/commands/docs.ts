import { errorMessage, UsageError } from '../../core/domain/errors.ts';
import { portIfFree } from '../../dev-server/start-flags.ts';
import type { FoundPage } from '../../guide/find-pages.ts';
import { GuideSite } from '../../guide/guide-site.ts';
import { refuseForeignPages } from '../../server/auth/open-access.ts';
import { listen } from '../../server/node-server.ts';
import { installedVersion } from '../../temporal/installed-sdk.ts';
import type { CommandIo, FlagsOf } from '../define-command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import type { DOCS } from '../shell-commands.ts';
import { untilEnded } from '../terminal.ts';

/** Next to the ports of the HTTP service and of Studio. */
const USUAL_PORT = 8789;

/** The most pages that are listed for a search. */
const NAMED = 3;

/** Serves the guide of this version on this machine until Ctrl-C, or prints one page of it. */
export async function docs({ terminal, output }: CommandIo, flags: FlagsOf<typeof DOCS>): Promise<number> {
  const guide = await GuideSite.open({ version: installedVersion('longhaul') ?? '' });
  const found = flags.words.length === 0 ? undefined : foundPages(guide, flags.words.join(' '));
  if (flags.print === true) return output.result(...printedPage(guide, found));
  const port = flags.port ?? (await portIfFree(USUAL_PORT)) ?? 0;
  const server = await listen(async (request) => answerOwn(guide, request), { host: '127.0.0.1', port });
  try {
    const pages = (found ?? []).map((one) => ({ title: titleOf(one), url: addressOf(server.url, one) }));
    if (output.json) output.printJson({ url: `${server.url}/`, ...(found === undefined ? {} : { pages }) });
    else {
      for (const { title, url } of pages) output.print(`${title}: ${url}`);
      output.print(`${pages.length === 0 ? '' : '\n'}Guide: ${server.url}/\n\nCtrl-C ends it.`);
    }
    await untilEnded(terminal.signal);
    return EXIT_CODES.ok.code;
  } finally {
    await server.close(0);
  }
}

/** Answers only local requests, like other servers without authentication. */
async function answerOwn(guide: GuideSite, request: Request): Promise<Response> {
  try {
    refuseForeignPages(request, []);
  } catch (error) {
    return new Response(`${errorMessage(error)}\n`, { status: 403 });
  }
  return guide.answer(request);
}

function foundPages(guide: GuideSite, words: string): FoundPage[] {
  const found = guide.find(words).slice(0, NAMED);
  if (found.length === 0) throw new UsageError(`No page of the guide has "${words}": without words, "docs" shows all pages`);
  return found;
}

/** Returns the best page as JSON and as Markdown; without words, the first page. */
function printedPage(guide: GuideSite, found: readonly FoundPage[] | undefined): [json: object, text: string] {
  const page = found === undefined ? guide.pages.find(({ path }) => path === '') : found[0]?.page;
  if (page === undefined) throw new UsageError('This package has no guide: install it anew');
  return [{ file: page.file, title: page.title, markdown: page.text }, page.text.trimEnd()];
}

function titleOf({ page, section }: FoundPage): string {
  return section.title === page.title ? page.title : `${page.title}, ${section.title}`;
}

function addressOf(base: string, { page, section }: FoundPage): string {
  return `${base}/${page.path}${section.title === page.title ? '' : `#${section.id}`}`;
}
