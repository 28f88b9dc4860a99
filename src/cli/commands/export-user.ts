import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { UserRun } from '../../client/export-user-options.ts';
import type { ExportedUser, UnreadPart, UserExportEnd, UserExportLine } from '../../client/export-user.ts';
import { EXPORTED_STORES } from '../../client/forget-options.ts';
import { LonghaulClient } from '../../client/longhaul-client.ts';
import { nameOfUser } from '../../client/user-runs.ts';
import { UsageError } from '../../core/domain/errors.ts';
import { defined, isJsonObject, parsedJson } from '../../core/domain/json.ts';
import type { Principal } from '../../core/domain/run.ts';
import { counted, printableLine, withoutEnd } from '../../core/domain/text.ts';
import { folderName, ifThere, linesOf, writeWhole } from '../../stores/payload-store.ts';
import { actingPrincipal, userKeyOf, withClient } from '../command.ts';
import type { CommandIo, FlagsOf } from '../define-command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { foundAt, unwritable } from '../input-files.ts';
import { LineFile } from '../line-file.ts';
import type { Output } from '../output.ts';
import type { EXPORT } from '../run-commands.ts';
import { namedStores, unnamedText } from './records.ts';

/** Writes everything of a user to a folder. The exit code says whether parts are missing. */
export async function exportUser(io: CommandIo, flags: Omit<FlagsOf<typeof EXPORT>, 'runId'>): Promise<number> {
  const { terminal, output } = io;
  const user = actingPrincipal(flags, terminal.env);
  if (user?.user === undefined)
    throw new UsageError(
      'What is to be exported? Write the id of a run, or --user, and --tenant if the user has one, for everything of a user',
    );
  if (flags.output === undefined) throw new UsageError('The export of a user has many files: write --output <folder>');
  const { stores, without, unnamed } = namedStores(flags, EXPORTED_STORES);
  if (unnamed.length > 0) throw new UsageError(`${unnamedText(unnamed, 'The export would lack what is in them')}. Nothing was exported`);
  const folder = await ExportFolder.open(flags.output);
  return withClient(io, flags, async ({ client: { temporal } }) => {
    const options = { ...stores, principal: user, ...defined({ userKey: userKeyOf(terminal.env) }) };
    const reading = new LonghaulClient(temporal, { ...options, onNotice: (line) => output.note(line) });
    const isExported = (run: UserRun): Promise<boolean> => folder.has(run);
    const written = await folder.write(reading.exportUser({ without, isExported, signal: terminal.signal }));
    report(output, user, written);
    const isWhole = written.unread.length + written.incomplete.length === 0;
    return isWhole ? EXIT_CODES.ok.code : EXIT_CODES.incomplete.code;
  });
}

/** What was written to a folder. */
interface WrittenExport extends Pick<UserExportEnd, 'runs' | 'memoryEntries' | 'without'> {
  folder: string;
  /** The runs that the folder had already. */
  kept: number;
  /** The runs that have not ended: the rest of them is missing. */
  live: string[];
  /** The runs with events or steps that neither the server nor the archive has. */
  incomplete: string[];
  unread: UnreadPart[];
}

/** The file that says whose export a folder has, and, once it is complete, what is in it. */
const ABOUT = 'export.json';

/** A folder with the export of a user: a file for each run, one for the memory, and one about all. An interrupted export continues in it. */
class ExportFolder {
  readonly #path: string;
  #kept = 0;

  private constructor(path: string) {
    this.#path = path;
  }

  /** Throws a UsageError for a file, and for a folder with something else. */
  static async open(path: string): Promise<ExportFolder> {
    if (foundAt(path, 'The output is to be')?.isDirectory() === false)
      throw new UsageError(`The output is to be "${path}", which is a file: the export of a user is a folder`);
    const names = (await ifThere(readdir(path))) ?? [];
    if (names.length > 0 && !names.includes(ABOUT))
      throw new UsageError(
        `The output is to be "${path}", which holds something else: write an empty folder, or that of an interrupted export`,
      );
    return new ExportFolder(path);
  }

  /** True if the folder has the whole of a run that has ended. */
  async has(run: UserRun): Promise<boolean> {
    const isThere = await isWholeFile(this.#fileOf(run), run);
    if (isThere) this.#kept += 1;
    return isThere;
  }

  /** The name of the newest run of an id stays the same while it continues: a later export replaces its file. */
  #fileOf({ runId, lastExecutionId, isNewest }: UserRun): string {
    return join(this.#path, 'runs', `${folderName(runId)}${isNewest ? '' : `.${lastExecutionId}`}.jsonl`);
  }

  async write(lines: AsyncIterable<UserExportLine>): Promise<WrittenExport> {
    const [live, incomplete, unread]: [string[], string[], UnreadPart[]] = [[], [], []];
    let about: ExportedUser | undefined;
    let end: UserExportEnd | undefined;
    let file: LineFile | undefined;
    const next = async (path?: string): Promise<void> => {
      await file?.complete();
      file = path === undefined ? undefined : await LineFile.open(path);
    };
    try {
      let isInMemory = false;
      for await (const line of lines) {
        if (line.type === 'user') await this.#begin((about = line));
        else if (line.type === 'end') end = line;
        else {
          if (line.type === 'run') await next(this.#fileOf(line));
          const isOfMemory = line.type === 'memory' || (line.type === 'unread' && line.part === 'memory');
          if (isOfMemory && !isInMemory) await next(join(this.#path, 'memory.jsonl'));
          isInMemory ||= isOfMemory;
          await file?.write(line);
          // What comes before the next run begins belongs to no file.
          if (line.type === 'summary' || (line.type === 'unread' && line.part === 'run')) await next();
        }
        if (line.type === 'unread') unread.push(line);
        if (line.type !== 'summary') continue;
        if (line.live) live.push(line.runId);
        if (line.gaps.length + line.missingSteps.length > 0) incomplete.push(line.runId);
      }
      await next();
    } catch (error) {
      await file?.discard();
      throw error;
    }
    if (about === undefined || end === undefined) throw new Error('The export has no end');
    const { runs, memoryEntries, without } = end;
    await this.#writeAbout({ ...about, complete: true, runs, memoryEntries, without, live, incomplete, unread });
    return { folder: this.#path, kept: this.#kept, runs, memoryEntries, without, live, incomplete, unread };
  }

  /** Throws a UsageError if the folder has the export of somebody else. */
  async #begin(about: ExportedUser): Promise<void> {
    const text = await ifThere(readFile(join(this.#path, ABOUT), 'utf8'));
    const known = text === undefined ? undefined : parsedJson(text);
    const isSame = (name: 'tenant' | 'user' | 'namespace'): boolean => isJsonObject(known) && known[name] === about[name];
    if (known !== undefined && !(isSame('tenant') && isSame('user') && isSame('namespace')))
      throw new UsageError(`The output is to be "${this.#path}", which has the export of another user or namespace: write another folder`);
    await mkdir(join(this.#path, 'runs'), { recursive: true }).catch((error: unknown) => {
      throw unwritable(this.#path, error);
    });
    await this.#writeAbout({ ...about, complete: false });
    await rm(join(this.#path, 'memory.jsonl'), { force: true });
  }

  async #writeAbout(content: object): Promise<void> {
    const path = join(this.#path, ABOUT);
    await writeWhole(path, [`${JSON.stringify(content, null, 2)}\n`]).catch((error: unknown) => {
      throw unwritable(path, error);
    });
  }
}

/** True for a file with a run that has ended and of which nothing is missing. */
async function isWholeFile(path: string, { lastExecutionId }: UserRun): Promise<boolean> {
  if (foundAt(path, 'The export has') === undefined) return false;
  let [first, last] = ['', ''];
  for await (const line of linesOf(path)) {
    if (line.startsWith('{"type":"unread"')) return false;
    if (first === '') first = line;
    last = line;
  }
  const [begin, end] = [parsedJson(first), parsedJson(last)];
  if (!isJsonObject(begin) || !isJsonObject(end) || end['type'] !== 'summary' || end['live'] !== false) return false;
  return (
    begin['lastExecutionId'] === lastExecutionId &&
    [end['gaps'], end['missingSteps']].every((list) => Array.isArray(list) && list.length === 0)
  );
}

/** The most parts that are named. */
const NAMED = 5;

function report(
  output: Output,
  user: Principal,
  { folder, kept, runs, memoryEntries, without, live, incomplete, unread }: WrittenExport,
): void {
  const entries = memoryEntries === 1 ? '1 entry' : `${memoryEntries} entries`;
  const before = kept === 0 ? '' : `; ${kept} of them ${kept === 1 ? 'was' : 'were'} in the folder already`;
  output.result(
    { tenant: user.tenant ?? null, user: user.user, folder, runs, memoryEntries, live, incomplete, unread, without },
    `Everything of ${nameOfUser(user)} is in ${folder}: ${counted(runs.length, 'run')}, ${entries} of memory${before}`,
  );
  if (live.length > 0)
    output.note(`${named(live)} ${live.length === 1 ? 'continues' : 'continue'}: export again, into the same folder, to have the rest`);
  if (incomplete.length > 0) output.note(`Parts of ${named(incomplete)} are missing: the server has removed them, and no archive has them`);
  for (const { part, runId, code, message } of unread.slice(0, NAMED)) {
    const of = runId === undefined ? '' : ` of run "${printableLine(runId)}"`;
    output.note(`Not read: ${PARTS[part]}${of} (${code}): ${withoutEnd(printableLine(message), '.')}`);
  }
  if (unread.length > NAMED) output.note(`Not read: ${unread.length - NAMED} more, which ${join(folder, ABOUT)} lists`);
  if (unread.length > 0) output.note('The same command reads again what is missing, and keeps what is there');
  output.note('Not exported: API keys that act for the user, backups, logs, traces, and data that tools have written elsewhere');
}

const PARTS: Record<UnreadPart['part'], string> = { run: 'the rest', memo: 'the memo', spilled: 'a large result', memory: 'the memory' };

function named(runIds: readonly string[]): string {
  const shown = runIds.slice(0, NAMED).map((runId) => `"${printableLine(runId)}"`);
  return `${shown.join(', ')}${runIds.length > NAMED ? ` and ${runIds.length - NAMED} more` : ''}`;
}
