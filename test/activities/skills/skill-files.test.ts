import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type LoadedSkill, WorkerSkills } from '../../../activities/skills/worker-skills.ts';
import { skillsCatalog } from '../../../src/core/domain/skills.ts';

let root: string;
beforeEach(async () => (root = await mkdtemp(path.join(tmpdir(), 'longhaul-skills-'))));
afterEach(() => rm(root, { recursive: true }));

/** Reads a worker's only skill. */
async function read(content: string, folder = 'pdf-forms'): Promise<LoadedSkill> {
  const file = path.join(root, folder, 'SKILL.md');
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, content);
  const [skill] = new WorkerSkills([{ name: 'clerk', skills: [{ path: path.dirname(file) }] }]).of('clerk').all;
  if (skill === undefined) throw new Error('no skill');
  return skill;
}

const BODY = 'Fill in the form.\n\n---\n\nThen send it.';

/** A skill with these lines as its front matter. */
const file = (...lines: string[]): string => ['---', ...lines, '---', '', BODY, ''].join('\n');

const PLAIN = file('name: pdf-forms', 'description: Fills in PDF forms');

describe('a skill is read from each of these files', () => {
  test.each<[form: string, content: string, description?: string]>([
    ['a plain one', PLAIN],
    ['with a byte order mark', `\ufeff${PLAIN}`],
    ['with CRLF', PLAIN.replaceAll('\n', '\r\n')],
    ['with a byte order mark and CRLF', `\ufeff${PLAIN.replaceAll('\n', '\r\n')}`],
    ['with blanks after the first rule', PLAIN.replace('---\n', '---  \n')],
    ['with blanks after the second rule', PLAIN.replace('forms\n---\n', 'forms\n--- \t\n')],
    [
      'with blanks after both rules and CRLF',
      PLAIN.replace('---\n', '--- \n').replace('forms\n---\n', 'forms\n--- \n').replaceAll('\n', '\r\n'),
    ],
    ['without an end of the last line', PLAIN.trimEnd()],
    ['with a description in double quotes', file('name: pdf-forms', 'description: "Use for: PDF \\"forms\\""'), 'Use for: PDF "forms"'],
    ['with a description in single quotes', file('name: pdf-forms', "description: 'It''s for: forms'"), "It's for: forms"],
    ['with a folded description', file('name: pdf-forms', 'description: >', '  Fills in', '  PDF forms'), 'Fills in PDF forms'],
    ['with a folded description of paragraphs', file('name: pdf-forms', 'description: >-', '  One', '', '  Two'), 'One Two'],
    ['with a literal description', file('name: pdf-forms', 'description: |', '  Fills in:', '  - forms'), 'Fills in: - forms'],
    ['with a literal description and CRLF', file('name: pdf-forms', 'description: |', '  A', '  B').replaceAll('\n', '\r\n'), 'A B'],
    ['with a description on several lines', file('name: pdf-forms', 'description: Fills in', '  PDF forms'), 'Fills in PDF forms'],
    [
      'with a quoted description on several lines',
      file('name: pdf-forms', 'description: "Fills in', '  PDF: forms"'),
      'Fills in PDF: forms',
    ],
    ['with a rule in a literal description', file('name: pdf-forms', 'description: |', '  A', '  ---', '  B'), 'A --- B'],
    ['with a description of 1,024 characters', file('name: pdf-forms', `description: ${'x'.repeat(1_024)}`), 'x'.repeat(1_024)],
    ['with comments', file('# Made by hand', 'name: pdf-forms # as the folder', 'description: Fills in PDF forms')],
    ['without a name', file('description: Fills in PDF forms')],
    [
      'with all fields of the specification',
      file(
        'name: pdf-forms',
        'description: Fills in PDF forms',
        'license: Apache-2.0',
        'compatibility: Needs pdftk',
        'metadata:',
        '  author: example-org',
        '  version: "1.0"',
      ),
    ],
    [
      'with fields that are not known',
      file('name: pdf-forms', 'description: Fills in PDF forms', 'version: 2', 'model: x', 'hooks: [a, {b: 1}]'),
    ],
  ])('%s', async (_, content, description = 'Fills in PDF forms') => {
    const skill = await read(content);
    expect({ ...skill, instructions: skill.instructions.replaceAll('\r\n', '\n') }).toMatchObject({
      name: 'pdf-forms',
      description,
      instructions: BODY,
      activation: 'manual',
    });
    expect(skill.allowedTools).toBeUndefined();
    expect(skillsCatalog([skill]).split('\n')).toHaveLength(2);
  });

  test.each<[form: string, line: string[], tools: string[] | undefined]>([
    ['a list', ['allowed-tools: [find_order, refund]'], ['find_order', 'refund']],
    ['a list on lines', ['allowed-tools:', '  - find_order', '  - refund'], ['find_order', 'refund']],
    ['a text with blanks', ['allowed-tools: find_order refund'], ['find_order', 'refund']],
    ['a text with commas', ['allowed-tools: find_order, refund'], ['find_order', 'refund']],
    ['a text in quotes', ['allowed-tools: "find_order  refund"'], ['find_order', 'refund']],
    ['a folded text', ['allowed-tools: >', '  find_order', '  refund'], ['find_order', 'refund']],
    ['one name', ['allowed-tools: find_order'], ['find_order']],
    ['patterns', ['allowed-tools: Bash(git add *) Bash(jq:*), Read'], ['Bash(git add *)', 'Bash(jq:*)', 'Read']],
    ['a list with numbers', ['allowed-tools: [find_order, 7]'], ['find_order', '7']],
    ['with an underscore, a list', ['allowed_tools: [find_order]'], ['find_order']],
    ['with an underscore, a text, which is not a list there', ['allowed_tools: find_order refund'], undefined],
    ['an empty list', ['allowed-tools: []'], []],
    ['nothing', ['allowed-tools:'], undefined],
  ])('with "allowed-tools" as %s', async (_, lines, tools) => {
    const skill = await read(file('name: pdf-forms', 'description: d', ...lines));
    expect(skill.allowedTools).toEqual(tools);
  });

  test.each(['a', 'pdf-processing', 'v2', '2024', 'a1-b2-c3', 'My_Skill', 'notes.v2', 'größe', '表格', 'x'.repeat(64)])(
    'with the name %s',
    async (name) => {
      expect(await read(file(`name: ${name}`, 'description: d'))).toMatchObject({ name });
    },
  );
});

describe('the worker stops, and names the file, the rule and the line', () => {
  const rule = 'use up to 64 letters, digits, "_", "-" and ".", without "-" at an end and "--" (line 2)';

  test.each<[form: string, content: string, problem: string]>([
    ['a hyphen at the beginning', file('name: -pdf', 'description: d'), `its name is "-pdf": ${rule}`],
    ['a hyphen at the end', file('name: pdf-', 'description: d'), `its name is "pdf-": ${rule}`],
    ['two hyphens', file('name: pdf--forms', 'description: d'), `its name is "pdf--forms": ${rule}`],
    ['a blank in the name', file('name: pdf forms', 'description: d'), `its name is "pdf forms": ${rule}`],
    ['a path as the name', file('name: ../pdf', 'description: d'), `its name is "../pdf": ${rule}`],
    ['an empty name', file('name: ""', 'description: d'), `its name is "": ${rule}`],
    ['a name that is too long', file(`name: ${'x'.repeat(65)}`, 'description: d'), rule],
    [
      'no description',
      file('name: pdf-forms'),
      '"description" is missing or empty: write a text that tells the model when to use the skill',
    ],
    ['an empty description', file('name: pdf-forms', '', 'description: " "'), 'is missing or empty (line 4)'],
    [
      'a description that is too long',
      file('name: pdf-forms', `description: ${'x'.repeat(1_025)}`),
      '"description" has 1025 characters, more than 1024: move a part of it below the front matter (line 3)',
    ],
    ['a description with a colon', file('name: pdf-forms', 'description: Use when: forms'), 'line 3: '],
    [
      'a description with a colon, with what to write',
      file('name: pdf-forms', 'description: Use when: forms'),
      'Put a text with ": " in it in quotes',
    ],
    ['a field twice', file('name: pdf-forms', 'description: d', 'name: other'), 'not YAML: line 4: Map keys must be unique'],
    ['a quote that does not end', file('name: pdf-forms', 'description: "Fills in'), 'not YAML: line '],
    ['front matter that does not end', '---\nname: pdf-forms\ndescription: d\n', 'its front matter does not end: write a line "---"'],
    ['both fields of tools', file('name: pdf-forms', 'description: d', 'allowed-tools: a', 'allowed_tools: [b]'), 'leave one out'],
  ])('for %s', async (_, content, problem) => {
    const failing = read(content);
    await expect(failing).rejects.toThrow(`${path.join(root, 'pdf-forms', 'SKILL.md')}: `);
    await expect(failing).rejects.toThrow(problem);
  });
});
