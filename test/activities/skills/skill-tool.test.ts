import { expect, test } from 'vitest';
import { skillsInWorker } from '../../../activities/skills/skill-tool.ts';

test('a long file is read in parts that divide no character, and are the whole file together', async () => {
  const content = `${'x'.repeat(14_999)}🙂${'y'.repeat(14_999)}🙂`;
  const skill = { name: 'refunds', digest: 'd', texts: { 'limits.md': content } };
  const skills = { of: () => ({ all: [skill], get: () => skill }) };
  const tool = skillsInWorker.tool?.({ skills } as never, { agentName: 'bot', skill: { digest: 'd' } } as never, 'read_skill_file');
  const parts: string[] = [];
  let from = 0;
  for (let next: string | undefined = '0'; next !== undefined; from = Number(next)) {
    const read = String(await tool?.execute?.({ skill: 'refunds', path: 'limits.md', from: Number(next) }, {} as never));
    const [note = '', , more] = /\n… (\d+) more characters: read on with "from": (\d+)$/.exec(read) ?? [];
    parts.push(read.slice(0, read.length - note.length));
    next = more;
  }
  expect(from).not.toBe(0);
  expect(parts.every((part) => part.isWellFormed())).toBe(true);
  expect(parts.join('')).toBe(content);
});
