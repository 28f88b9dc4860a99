import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { WorkerSkills } from '../../../activities/skills/worker-skills.ts';
import { UsageError } from '../../../src/index.ts';

let root: string;
beforeEach(async () => (root = await mkdtemp(path.join(tmpdir(), 'longhaul-skills-'))));
afterEach(() => rm(root, { recursive: true }));

async function write(file: string, content: string | Buffer): Promise<void> {
  await mkdir(path.dirname(path.join(root, file)), { recursive: true });
  await writeFile(path.join(root, file), content);
}

const text = (name: string, more = ''): string => `---\nname: ${name}\ndescription: About ${name}\n${more}---\n\nDo ${name}.`;

function read(...skills: string[]): WorkerSkills {
  return new WorkerSkills([{ name: 'clerk', skills: skills.map((one) => ({ path: one })) }]);
}

/** The message of the UsageError that a worker ends with. */
function problem(...skills: string[]): string {
  try {
    read(...skills);
  } catch (error) {
    return `${error instanceof UsageError ? '' : 'no UsageError: '}${(error as Error).message}`.replaceAll(root, '.');
  }
  return 'taken';
}

describe('the skills of a worker', () => {
  test('are read from a folder, and from all folders in it, in the order of their priorities', async () => {
    await write('a/refunds/SKILL.md', text('refunds'));
    await write('a/deep/er/tone/SKILL.md', text('tone', 'priority: 1\n'));
    await write('a/refunds/inner/SKILL.md', text('inner'));
    const { all } = read(path.join(root, 'a')).of('clerk');
    expect(all).toMatchObject([
      { name: 'tone', instructions: 'Do tone.' },
      { name: 'refunds', description: 'About refunds' },
    ]);
    // A skill in the folder of another one is a file of that one.
    expect(Object.keys(all[1]?.texts ?? {})).toEqual(['SKILL.md', 'inner/SKILL.md']);
    expect(read(pathToFileURL(path.join(root, 'a', 'refunds')).href).of('clerk').all).toHaveLength(1);
    expect(read(path.join(root, 'a')).of('other').all).toEqual([]);
  });

  test('have a digest that changes with each name and each content of their files', async () => {
    await write('SKILL.md', text('refunds'));
    await write('limits.md', '100');
    const digest = (): string => read(root).of('clerk').all[0]?.digest ?? '';
    const first = digest();
    expect(first).toMatch(/^[0-9a-f]{64}$/);
    expect(digest()).toBe(first);
    await write('limits.md', '200');
    const second = digest();
    await rm(path.join(root, 'limits.md'));
    await write('limit.md', '200');
    expect(new Set([first, second, digest()]).size).toBe(3);
  });

  test('do not contain what symbolic links lead to', async () => {
    await write('outside/secret.txt', 'secret');
    await write('skill/SKILL.md', text('refunds'));
    await symlink(path.join(root, 'outside'), path.join(root, 'skill', 'folder'));
    await symlink(path.join(root, 'outside', 'secret.txt'), path.join(root, 'skill', 'file.txt'));
    expect(read(path.join(root, 'skill')).of('clerk').all[0]?.texts).toEqual({ 'SKILL.md': text('refunds') });
  });

  test('keep a file that is not text without its content', async () => {
    await write('SKILL.md', text('refunds'));
    await write('picture.png', Buffer.from([0xff, 0xd8, 0x00]));
    expect(read(root).of('clerk').all[0]?.texts).toMatchObject({ 'picture.png': null });
  });

  test('stop the worker with path and rule if they cannot be used', async () => {
    await write('empty/readme.md', 'no skill');
    await write('nameless/SKILL.md', '---\nname: "a b"\ndescription: d\n---\n');
    await write('plain/SKILL.md', 'Only text.');
    await write('broken/SKILL.md', '---\nname: [a\n---\n');
    await write('list/SKILL.md', '---\n- a\n---\n');
    await write('large/SKILL.md', `${text('large')}${'x'.repeat(60_000)}`);
    await write('file/SKILL.md', text('file'));
    await write('file/data.bin', Buffer.alloc(5 * 1024 * 1024 + 1));
    await write('twice/a/SKILL.md', text('same'));
    await write('twice/b/SKILL.md', text('same'));
    const at = (name: string): string => path.join(root, name);
    expect(problem(at('missing'))).toMatch(/^agent "clerk": "skills": \.\/missing: it cannot be read as a folder: ENOENT/);
    expect(problem(at('empty'))).toBe('agent "clerk": "skills": ./empty: it has no SKILL.md, and neither has a folder in it');
    expect(problem(at('nameless'))).toContain('./nameless/SKILL.md: its name is "a b": use up to 64 letters');
    expect(problem(at('plain'))).toContain('./plain/SKILL.md: "description" is missing or empty');
    expect(problem(at('broken'))).toContain('./broken/SKILL.md: its front matter is not YAML: line ');
    expect(problem(at('list'))).toContain('./list/SKILL.md: its front matter is not a list of fields');
    expect(problem(at('large'))).toMatch(/\.\/large\/SKILL\.md: its text has 6\d{4} bytes of JSON, more than 56000/);
    expect(problem(at('file'))).toContain('./file/data.bin: it has 5242881 bytes, more than 5242880');
    expect(problem(at('twice'))).toBe(
      'agent "clerk": "skills": ./twice/b: its name is "same", the same as in ./twice/a: give it another one',
    );
  });

  test('stop the worker if they are too many files', async () => {
    await write('SKILL.md', text('refunds'));
    await Promise.all(Array.from({ length: 1_000 }, (_, index) => write(`f/${index}.txt`, '')));
    expect(problem(root)).toBe('agent "clerk": "skills": .: it has more than 1000 files');
  });
});
