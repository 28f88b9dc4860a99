import {
  type AgentSnapshot,
  LOAD_SKILL,
  type PinnedSkill,
  SKILL_TOOLS,
  type SkillSnapshot,
  type ToolSnapshot,
} from '../../src/core/domain/agent.ts';
import { defined, isJsonObject, type JsonObject, type JsonValue } from '../../src/core/domain/json.ts';
import { skillBlock, skillsCatalog, skillsPrompt, skillTools } from '../../src/core/domain/skills.ts';
import { type AnyTool, ToolFailure } from '../../src/define/tool-definition.ts';
import { OutputStore } from '../programs/step-values.ts';
import type { ActivityRuntime } from '../runtime.ts';
import { ordinaryTool, type WorkerPart } from '../worker-part.ts';
import { type LoadedSkill, SKILL_FILE } from './worker-skills.ts';

/** The parts of a skill that the model reads. */
type SkillContent = Pick<LoadedSkill, 'instructions' | 'texts'>;

type SkillRuntime = Pick<ActivityRuntime, 'skills' | 'payloadStore'>;

/** The number of paths that a list of files shows. */
const LISTED_FILES = 200;

/** Characters of a file that one call reads, to stay within a result's byte budget. */
const READ_CHARS = 15_000;

/** Skills in a worker: the agent's skills are pinned for a run, and the model reads them with tools. */
export const skillsInWorker: WorkerPart = {
  name: 'skills',
  toolNames: () => SKILL_TOOLS,
  pin: ({ runtime, agent, text }) => pinSkills(runtime, agent.name, text),
  ownsTool: ({ skill }) => skill !== undefined,
  tool: (runtime, { agentName, skill = {} }, name) => skillToolDefinition(runtime, agentName, name, skill),
};

/** Returns a tool that reads skills. */
function skillToolDefinition(runtime: SkillRuntime, agentName: string, name: string, pinned: Partial<PinnedSkill>): AnyTool {
  return ordinaryTool(name, async (args: JsonObject) => {
    const { skill = '', path = '', from = 0 } = args as { skill?: string; path?: string; from?: number };
    const content = await contentOf(runtime, agentName, { name: skill, pinned });
    return name === LOAD_SKILL ? skillText(skill, content) : fileText(content, path, from);
  });
}

/** Returns the id of the content of a skill in the payload store of a run. */
function storedId(name: string): string {
  return `skill ${name}`;
}

/** Returns the run's pinned content: this worker's if it is the same, otherwise the payload store's. */
async function contentOf(
  { skills, payloadStore }: SkillRuntime,
  agentName: string,
  { name, pinned }: { name: string; pinned: Partial<PinnedSkill> },
): Promise<SkillContent> {
  const registry = skills.of(agentName);
  const { digest, stored } = pinned;
  if (digest === undefined) {
    const names = registry.all.map((skill) => `"${skill.name}"`).join(', ');
    throw new ToolFailure(`There is no skill "${name}". The skills are: ${names}`);
  }
  const own = registry.get(name);
  if (own?.digest === digest) return own;
  if (stored !== undefined && payloadStore !== undefined) {
    const found = { address: name, id: storedId(name), spilled: stored };
    const content = await new OutputStore(payloadStore).get(found, undefined, `The content of skill "${name}"`);
    const kept = storedContent(content);
    if (kept !== undefined) return kept;
  }
  const now = own === undefined ? 'this worker does not have it' : `this worker has ${own.digest}`;
  throw new ToolFailure(
    `Skill "${name}" has changed since the run began: the run is pinned to ${digest}, and ${now}. Continue without it, or start another run`,
  );
}

/** Returns the content that was stored for a run. The store has checked its digest. */
function storedContent(content: JsonValue): SkillContent | undefined {
  if (!isJsonObject(content)) return undefined;
  const { instructions, texts } = content;
  if (typeof instructions !== 'string' || !isJsonObject(texts)) return undefined;
  const known = Object.entries(texts).map(([path, text]) => [path, typeof text === 'string' ? text : null]);
  return { instructions, texts: Object.fromEntries(known) as SkillContent['texts'] };
}

function skillText(name: string, { instructions, texts }: SkillContent): string {
  const files = Object.keys(texts).filter((path) => path !== SKILL_FILE);
  if (files.length === 0) return skillBlock({ name, instructions });
  const more = files.length > LISTED_FILES ? [`… and ${files.length - LISTED_FILES} more`] : [];
  const list = [...files.slice(0, LISTED_FILES).map((path) => `- ${path}`), ...more];
  return [skillBlock({ name, instructions }), '', 'Files of the skill, for read_skill_file:', ...list].join('\n');
}

/** Only listed paths are read, so none can lead out of the folder. */
function fileText({ texts }: SkillContent, path: string, from: number): string {
  const plain = path.replace(/^\.\//, '');
  if (/^[/\\]|^[a-z]:/i.test(plain) || plain.split(/[/\\]/).includes('..')) {
    throw new ToolFailure(`"${path}" is outside of the folder of the skill: name one of its files`);
  }
  const text = Object.hasOwn(texts, plain) ? texts[plain] : undefined;
  if (text === undefined)
    throw new ToolFailure(`The skill has no file "${path}". Its files are: ${Object.keys(texts).slice(0, LISTED_FILES).join(', ')}`);
  if (text === null) throw new ToolFailure(`"${path}" is not UTF-8 text: it cannot be read`);
  // A character of two code units is never divided.
  const end = from + READ_CHARS - (text.slice(from, from + READ_CHARS).isWellFormed() ? 0 : 1);
  const part = text.slice(from, end);
  const left = text.length - from - part.length;
  return left <= 0 ? part : `${part}\n… ${left} more characters: read on with "from": ${end}`;
}

/** The fields of an agent's snapshot for its skills. */
interface SkillFields {
  fields: Pick<AgentSnapshot, 'skills'>;
  tools: ToolSnapshot[];
  /** The list of the skills, and the texts of initially active ones. */
  instructions: string[];
}

/**
 * Pins the skills of an agent for a run with this input: skills that are always active or whose predicate is true are active from the
 * start. All their files go to the worker's payload store, if it has one.
 */
async function pinSkills(
  { skills, payloadStore }: Pick<ActivityRuntime, 'skills' | 'payloadStore'>,
  agentName: string,
  input: () => Promise<string>,
): Promise<SkillFields> {
  const registry = skills.of(agentName);
  const { all } = registry;
  if (all.length === 0) return { fields: {}, tools: [], instructions: [] };
  const text = all.some(({ match }) => match !== undefined) ? await input() : '';
  for (const { name, activation } of all) if (activation === 'auto') registry.activate(name);
  for (const { name } of registry.match(text)) registry.activate(name);
  const active = new Set(registry.active.map(({ name }) => name));
  const store = payloadStore === undefined ? undefined : new OutputStore(payloadStore);
  const pinned = await Promise.all(all.map((skill) => pinnedSkill(skill, active.has(skill.name), store)));
  const prompt = skillsPrompt(registry.active);
  const instructions = [skillsCatalog(all), ...(prompt === undefined ? [] : [prompt])];
  return { fields: { skills: pinned }, tools: skillTools(pinned), instructions };
}

async function pinnedSkill(skill: LoadedSkill, active: boolean, store: OutputStore | undefined): Promise<SkillSnapshot> {
  const { name, description, digest, allowedTools, instructions, texts } = skill;
  return {
    name,
    description,
    digest,
    ...(store === undefined ? {} : { stored: await store.put(storedId(name), { instructions, texts }) }),
    ...defined({ allowedTools }),
    ...(active ? { active: true } : {}),
  };
}
