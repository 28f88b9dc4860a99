import { expect, test } from 'vitest';
import { skillsInWorker } from '../../../activities/skills/skill-tool.ts';

test('a long file is read in parts that divide no character, and are the whole file together', async () => {
  const content = `${'x'.repeat(14_999)}🙂${'y'.repeat(14_999)}🙂`;
  const skill = { name: 'refunds', digest: 'd', texts: { 'limits.md': content } };
  const skills = { of: () => ({ all: [skill], get: () => skill }) };
  const tool = skillsInWorker.tool?.({ skills } as never, { agentName: 'bot', skill: { digest: 'd' } }, 'read_skill_file');
  const parts: string[] = [];
  let from: number | undefined = 0;
  while (from !== undefined) {
    const read = String(await tool?.execute?.({ skill: 'refunds', path: 'limits.md', from } as never, {} as never));
    const note: RegExpExecArray | null = /\n… \d+ more characters: read on with "from": (\d+)$/.exec(read);
    parts.push(read.slice(0, note?.index));
    from = note === null ? undefined : Number(note[1]);
  }
  expect(parts).toHaveLength(3);
  expect(parts.every((part) => part.isWellFormed())).toBe(true);
  expect(parts.join('')).toBe(content);
});
