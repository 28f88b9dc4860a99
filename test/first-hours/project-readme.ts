import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** What README.md of a project says is to be typed, word for word. */
export interface ProjectReadme {
  /** In the first terminal: it stays open. */
  dev: string;
  /** In a second one, where the project has a program besides: it stays open. */
  opened?: string;
  /** In the last one, commands in sequence. Empty if the question is asked elsewhere. */
  asked: string[];
  /** The page where the question is asked, if it names one. */
  page?: string;
  /** The scripts of its table. */
  scripts: string[];
}

/** Reads the commands of README.md in the folder of a project. */
export async function readProjectReadme(folder: string): Promise<ProjectReadme> {
  const text = await readFile(join(folder, 'README.md'), 'utf8');
  const fences = [...text.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, commands = '']) => commands.trim());
  const [dev, ...others] = fences;
  if (dev === undefined || others.length === 0) throw new Error(`README.md does not say how to start and what to do then:\n${text}`);
  const [, page] = /open (http:\/\/localhost:\d+)/.exec(text) ?? [];
  // Where it has a third terminal or a page, the second one stays open as well.
  const opened = others.length > 1 || page !== undefined ? others.shift() : undefined;
  return {
    dev,
    ...(opened === undefined ? {} : { opened }),
    asked: others.flatMap((fence) => fence.split('\n')),
    ...(page === undefined ? {} : { page }),
    scripts: [...text.matchAll(/^\| `([^`]+)` \|/gm)].map(([, script = '']) => script),
  };
}
