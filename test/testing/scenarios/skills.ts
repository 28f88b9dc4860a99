import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { defineTool } from '../../../src/index.ts';
import { approve, callTool, say, together } from '../../../src/testing/index.ts';
import { agentWith, scenario } from './scenario.ts';

const folder = (name = ''): string => fileURLToPath(new URL(`../skills/${name}`, import.meta.url));

const tool = (name: string) =>
  defineTool({ name, description: `The tool ${name}`, parameters: z.object({}), execute: () => `${name}: done` });

const tools = [tool('look'), tool('pay')];
const load = callTool('load_skill', { skill: 'refunds' });

/** Skills that the model loads, and their files. */
export const SKILLS = [
  scenario('a skill is loaded, and a file of it is read', agentWith(tools, { skills: [folder()] }), {
    script: [load, callTool('read_skill_file', { skill: 'refunds', path: 'limits.md' }), say('Done.')],
    timeline: [
      /calls load_skill/,
      /^load_skill: ## Skill: refunds\n\nLook at the order before you pay.*Files of the skill, for read_skill_file:\n- limits\.md/s,
      /calls read_skill_file/,
      /^read_skill_file: Up to 100 euros\./,
      'agent: Done.',
    ],
  }),
  scenario('a skill that is active allows only its tools from the next response on', agentWith(tools, { skills: [folder('refunds')] }), {
    script: [together(load, callTool('pay', {})), together(callTool('look', {}), callTool('pay', {})), say('Done.')],
    timeline: [
      /calls load_skill/,
      /calls pay/,
      /^load_skill: ## Skill: refunds/,
      'pay: pay: done',
      /calls look/,
      /calls pay/,
      'look: look: done',
      /^pay failed: .*the skill "refunds" is active, and allows only "look"/,
      'agent: Done.',
    ],
  }),
  scenario(
    'the skill that an approver has chosen instead is the active one',
    agentWith(tools, { skills: [folder()], permissions: { ask: ['load_skill'] } }),
    {
      script: [callTool('load_skill', { skill: 'tone' }), callTool('pay', {}), say('Done.')],
      decide: () => approve({ arguments: { skill: 'refunds' }, by: 'ann' }),
      timeline: [
        /calls load_skill/,
        /load_skill/,
        /^load_skill: ## Skill: refunds/,
        'note on load_skill: the approver changed its arguments before it ran: {"skill":"refunds"}',
        /calls pay/,
        /^pay failed: .*the skill "refunds" is active, and allows only "look"/,
        'agent: Done.',
      ],
    },
  ),
  scenario('a skill that the agent does not have is an error that names those it has', agentWith(tools, { skills: [folder('tone')] }), {
    script: [callTool('load_skill', { skill: 'refunds' }), say('Done.')],
    timeline: [/calls load_skill/, /^load_skill failed: .*tone/s, 'agent: Done.'],
  }),
  scenario('a path that leads out of the folder is refused', agentWith(tools, { skills: [folder('refunds')] }), {
    script: [
      together(
        callTool('read_skill_file', { skill: 'refunds', path: '../tone/SKILL.md' }),
        callTool('read_skill_file', { skill: 'refunds', path: '/etc/passwd' }),
        callTool('read_skill_file', { skill: 'refunds', path: 'other.md' }),
      ),
      say('Done.'),
    ],
    timeline: [
      /calls read_skill_file/,
      /calls read_skill_file/,
      /calls read_skill_file/,
      /^read_skill_file failed: .*outside of the folder/,
      /^read_skill_file failed: .*outside of the folder/,
      /^read_skill_file failed: .*no file "other\.md"\. Its files are: SKILL\.md, limits\.md/,
      'agent: Done.',
    ],
  }),
  scenario(
    'permissions hold for the tools of skills',
    agentWith(tools, { skills: [folder()], permissions: { deny: ['read_skill_file'] } }),
    {
      script: [callTool('read_skill_file', { skill: 'refunds', path: 'limits.md' }), say('Done.')],
      timeline: [/calls read_skill_file/, /^read_skill_file failed: .*deny: tool "read_skill_file"/, 'agent: Done.'],
    },
  ),
  scenario(
    'a skill whose predicate fits the input is active from the start',
    agentWith(tools, { skills: [{ path: folder('refunds'), match: (input: string) => input === 'Go' }] }),
    {
      script: [callTool('pay', {}), say('Done.')],
      timeline: [/calls pay/, /^pay failed: .*the skill "refunds" is active/, 'agent: Done.'],
    },
  ),
];
