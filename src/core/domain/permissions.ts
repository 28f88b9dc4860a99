import { canonicalJson, defined, isJsonObject, type JsonObject, type JsonValue } from './json.ts';
import * as s from './shape.ts';
import { TOOL_CATEGORIES, type ToolCategory } from './tool-categories.ts';
import { MAX_CAPABILITY_NAME } from './byte-budgets.ts';

export const PERMISSION_MODES = ['default', 'permissive', 'strict'] as const;

/**
 * `default`: calls run, except that calls matching `approvalRequired` wait for a decision. `permissive`: `approvalRequired` does not apply,
 * and only calls of tools in the category `execute` wait. `strict`: only tools that `allow` matches may be called, and each call waits.
 * @useDeclaredType
 */
export type PermissionMode = (typeof PERMISSION_MODES)[number];

/** The category of every hosted tool: its input and output leave the run's control. */
export const HOSTED_CATEGORY: ToolCategory = 'network';

/** The maximum characters of a glob. */
const MAX_GLOB_LENGTH = 256;

const GLOB = s.boundedText({ minLength: 1, maxLength: MAX_GLOB_LENGTH });

const RULE = {
  /** A glob for the tool's name, ignoring case. */
  tool: s.optional(GLOB),
  /** A glob for the tool's category. A tool without a category never matches. */
  category: s.optional(GLOB),
  /** Globs for arguments, by path: `path`, `options.mode`, `files.0`; `*` in a path matches any member. */
  args: s.optional(s.recordOf(GLOB)),
  /** The capability that provides the rule, for readers only: it decides nothing. */
  capability: s.optional(s.boundedText({ minLength: 1, maxLength: MAX_CAPABILITY_NAME })),
};

/** A rule: a call matches if all of its fields match. */
export interface PermissionRule extends s.ObjectOf<typeof RULE> {}

const RULES = s.listOf<PermissionRule>(s.closedObject(RULE), { maxItems: 100 });

const PERMISSIONS_MEMBERS = {
  /** The treatment of calls that no rule matches. */
  mode: s.oneOf(...PERMISSION_MODES),
  /** Calls that get an error result. */
  deny: s.optional(RULES),
  /** Calls that wait for a decision, in every mode. */
  ask: s.optional(RULES),
  /** Absent: all calls are allowed. Otherwise all other calls are denied, in every mode. */
  allow: s.optional(RULES),
  /** Calls that wait for a decision in the mode `default`. */
  approvalRequired: s.optional(RULES),
  /** In the mode `permissive`, calls of tools in the category `execute` do not wait either. */
  allowUnattendedExecute: s.optional(s.TRUE),
};

/** The rules for a run's calls, as pinned in its snapshot. */
export interface Permissions extends s.ObjectOf<typeof PERMISSIONS_MEMBERS> {}
export const PERMISSIONS: s.Shape<Permissions> = s.closedObject(PERMISSIONS_MEMBERS);

/** The maximum number of policies of one run: one of the agent, and at most two each of every ancestor and of the start. */
const MAX_LAYERS = 20;

export const RULE_LISTS = ['deny', 'ask', 'allow', 'approvalRequired'] as const;

/** The verdict on a call: each reason is the text of a rule. A denied call may also have a reason to wait. */
export interface PermissionVerdict {
  /** The reason why the call gets an error result. */
  denied?: string;
  /** The reason why the call waits for a decision. */
  asked?: string;
}

/** Returns the verdict of one policy. An unknown mode both denies and asks about every call. */
export function checkPermissions(permissions: Permissions, call: CheckedCall): PermissionVerdict {
  const denied = denial(permissions, call);
  const asked = question(permissions, call);
  return defined({ denied, asked });
}

/** Returns the verdict of all policies of a run: a denial or question from any of them is enough. */
export function checkAllPermissions(layers: readonly Permissions[], call: CheckedCall): PermissionVerdict {
  const verdicts = layers.map((permissions) => checkPermissions(permissions, call));
  return { ...verdicts.find(({ asked }) => asked !== undefined), ...verdicts.find(({ denied }) => denied !== undefined) };
}

/** True if no call of the tool could run, whatever its arguments: it is not offered to the model or to code. */
export function isDeniedByName(
  { permissions = [] }: PermissionsOfSnapshot,
  { name, category }: { name: string; category?: string | undefined },
): boolean {
  const call: CheckedCall = { tool: name, category };
  return permissions.some(({ mode, deny = [], allow }) => {
    if (deny.some((rule) => matchesRule(rule, call, 'some'))) return true;
    // Rules with arguments may allow some calls of the tool.
    if (allow !== undefined) return !allow.some(({ args: _, ...rule }) => matchesRule(rule, call, 'every'));
    return mode !== 'default' && mode !== 'permissive';
  });
}

/**
 * True if a model's provider may run a tool itself. Its arguments are unknown, and nobody can be asked: a rule that denies some of its
 * calls, or makes them wait, keeps it from being offered, and only a rule without arguments allows it.
 */
export function mayBeHosted(layers: readonly Permissions[], { name, category }: { name: string; category: string }): boolean {
  const call: CheckedCall = { tool: name, category };
  const aboutTools = (rules: readonly PermissionRule[] = []): PermissionRule[] =>
    rules.flatMap(({ args: _, ...rule }) => (rule.tool === undefined && rule.category === undefined ? [] : [rule]));
  return layers.every((layer) => {
    const { allow } = layer;
    const rules = { deny: aboutTools(layer.deny), ask: aboutTools(layer.ask), approvalRequired: aboutTools(layer.approvalRequired) };
    const allowed = allow === undefined ? {} : { allow: allow.filter(({ args }) => args === undefined) };
    const verdict = checkPermissions({ ...layer, ...rules, ...allowed }, call);
    return verdict.denied === undefined && verdict.asked === undefined;
  });
}

function denial({ mode, deny = [], allow }: Permissions, call: CheckedCall): string | undefined {
  const rule = deny.find((one) => matchesRule(one, call, 'some'));
  if (rule !== undefined) return `the rule ${ruleText('deny', rule)} denies it`;
  if (allow !== undefined) return allow.some((one) => matchesRule(one, call, 'every')) ? undefined : 'no rule of "allow" allows it';
  return mode === 'default' || mode === 'permissive' ? undefined : `the mode "${mode}" allows only what "allow" names`;
}

function question({ mode, ask = [], approvalRequired = [], allowUnattendedExecute }: Permissions, call: CheckedCall): string | undefined {
  const rule = firstMatch(ask, call);
  if (rule !== undefined) return `the rule ${ruleText('ask', rule)} asks about it`;
  if (mode === 'permissive') {
    const isAttended = call.category === 'execute' && allowUnattendedExecute !== true;
    return isAttended ? 'the mode "permissive" asks about tools that execute' : undefined;
  }
  if (mode !== 'default') return `the mode "${mode}" asks about every call`;
  const required = firstMatch(approvalRequired, call);
  return required === undefined ? undefined : `the rule ${ruleText('approvalRequired', required)} asks about it`;
}

function firstMatch(rules: readonly PermissionRule[], call: CheckedCall): PermissionRule | undefined {
  return rules.find((rule) => matchesRule(rule, call, 'some'));
}

/** A call as seen by rules. Without arguments, only rules without globs for arguments can match. */
export interface CheckedCall {
  tool: string;
  category?: string | undefined;
  arguments?: JsonObject;
}

/**
 * True if the call matches the rule. If a path leads to several values, `some` requires one of them to match, and `every` all of them: one
 * file is enough to deny a call, and all files must be allowed. A path without a value never matches.
 */
function matchesRule({ tool, category, args = {} }: PermissionRule, call: CheckedCall, values: 'some' | 'every'): boolean {
  if (tool !== undefined && !matchesGlob(tool, call.tool, true)) return false;
  if (category !== undefined && (call.category === undefined || !matchesGlob(category, call.category, true))) return false;
  return Object.entries(args).every(([path, glob]) => {
    const found = call.arguments === undefined ? [] : valuesAt(call.arguments, path.split('.'));
    const matches = (value: JsonValue): boolean => matchesGlob(glob, typeof value === 'string' ? value : JSON.stringify(value));
    return found.length > 0 && (values === 'some' ? found.some(matches) : found.every(matches));
  });
}

/** True if every call that matches `narrow` also matches `wide`. Returns false for some pairs where this holds. */
function ruleCovers(wide: PermissionRule, narrow: PermissionRule): boolean {
  return (
    fieldCovers(wide.tool, narrow.tool) &&
    fieldCovers(wide.category, narrow.category) &&
    Object.entries(wide.args ?? {}).every(([path, glob]) => {
      const other = narrow.args !== undefined && Object.hasOwn(narrow.args, path) ? narrow.args[path] : undefined;
      return other !== undefined && globCovers(glob, other);
    })
  );
}

function fieldCovers(wide: string | undefined, narrow: string | undefined): boolean {
  return wide === undefined || (narrow !== undefined && globCovers(wide, narrow, true));
}

/** Returns the values at a path. Keys come from models: only own properties count. */
function valuesAt(value: JsonValue, path: readonly string[]): JsonValue[] {
  const [key, ...rest] = path;
  if (key === undefined) return [value];
  if (!Array.isArray(value) && !isJsonObject(value)) return [];
  const members = value as Record<string, JsonValue>;
  if (key === '*') return Object.values(members).flatMap((member) => valuesAt(member, rest));
  const isMember = Object.hasOwn(members, key) && (!Array.isArray(value) || /^\d+$/.test(key));
  return isMember ? valuesAt(members[key] ?? null, rest) : [];
}

/** Returns a readable rule: `deny: tool "web_*", path "/etc/*"`, and the capability that provides it. */
export function ruleText(list: (typeof RULE_LISTS)[number], { tool, category, args = {}, capability }: PermissionRule): string {
  const parts = [
    ...(tool === undefined ? [] : [`tool ${JSON.stringify(tool)}`]),
    ...(category === undefined ? [] : [`category ${JSON.stringify(category)}`]),
    ...Object.entries(args).map(([path, glob]) => `${path} ${JSON.stringify(glob)}`),
  ];
  const origin = capability === undefined ? '' : ` of capability ${JSON.stringify(capability)}`;
  return `${list}: ${parts.join(', ')}${origin}`;
}

/**
 * Returns the policies that apply to a run: its own, and all policies of its parent. A call must pass each of them, so that denials and
 * questions add up, and a call is allowed only where all allow it. Equal policies of ancestors are listed once.
 */
export function effectivePermissions(own: Permissions | undefined, ancestors: readonly Permissions[] = []): Permissions[] {
  const texts = ancestors.map((layer) => canonicalJson(JSON.parse(JSON.stringify(layer)) as JsonValue));
  const inherited = ancestors.filter((_, index) => texts.indexOf(texts[index] ?? '') === index);
  return own === undefined ? inherited : [own, ...inherited];
}

/** A recorded change of a run's permissions. */
export interface PermissionChange {
  /** The id that the caller chose. */
  id: string;
  /** The whole policy of the run from then on, replacing its agent's. */
  permissions: Permissions;
  /** The caller's name, as claimed. */
  by: string | null;
  /** The caller, as verified by `authorize`: only for a change that widens. */
  verifiedBy?: string;
  /** ISO 8601. */
  at: string;
}

/** Returns a permission change as a line of text. */
export function permissionLine(author: string, { permissions }: PermissionChange): string {
  return `${author} sets permissions ${JSON.stringify(permissions)}`;
}

/** The field of an event that records a permission change. */
export const PERMISSION_NOTES = {
  /** Permissions that were set; the content is empty. */
  permissions: s.optional(s.anyObject<PermissionChange>()),
};

/** The permission data in an agent's snapshot. */
export interface PermissionsOfSnapshot {
  /** The policies that every call must pass: first the agent's, then those of the start and of the ancestors. Absent: none. */
  permissions?: Permissions[];
}

/** The policies that a run passes on to its children. */
export const PERMISSIONS_OF_ANCESTORS = {
  /** Policies that each call must also pass. */
  permissions: s.optional(s.listOf(PERMISSIONS, { maxItems: MAX_LAYERS })),
};

/** The tool name in the question to `authorize` about a change that widens permissions. */
export const SET_PERMISSIONS = 'set_permissions';

/** A rule that matches every call. */
const EVERY_CALL: PermissionRule = {};

/**
 * True if `after` denies every call that `before` denies, and denies or asks about every call that `before` asks about. Returns false for
 * some changes where this holds; they count as widening.
 */
export function isNarrowing(before: Permissions, after: Permissions): boolean {
  if (deniesAll(after)) return true;
  if (deniesAll(before)) return false;
  const denies = (rule: PermissionRule): boolean => isCovered(rule, after.deny);
  return (
    (before.deny ?? []).every(denies) &&
    questions(before).every((rule) => denies(rule) || isCovered(rule, questions(after))) &&
    (before.allow === undefined || (after.allow?.every((rule) => isCovered(rule, before.allow)) ?? false))
  );
}

function isCovered(rule: PermissionRule, rules: readonly PermissionRule[] = []): boolean {
  return rules.some((wide) => ruleCovers(wide, rule));
}

function deniesAll({ mode, deny, allow }: Permissions): boolean {
  return isCovered(EVERY_CALL, deny) || allow?.length === 0 || (allow === undefined && mode !== 'default' && mode !== 'permissive');
}

function questions({ mode, ask = [], approvalRequired = [], allowUnattendedExecute }: Permissions): PermissionRule[] {
  if (mode === 'default') return [...ask, ...approvalRequired];
  if (mode === 'permissive') return allowUnattendedExecute ? ask : [...ask, { category: 'execute' }];
  return [EVERY_CALL];
}

/** The maximum number of rules in a list and of argument globs in a rule, and the maximum characters of a path. */
const RULE_BOUNDS = { rules: 100, args: 10, path: 200 };

const PERMISSION_FIELDS: readonly string[] = ['mode', ...RULE_LISTS, 'allowUnattendedExecute'];
const RULE_FIELDS = ['tool', 'category', 'args', 'capability'];

/** Returns the path and the reason of the first invalid part of permissions: `deny[0].tool: …`. Undefined if they are valid. */
export function permissionsProblem(value: unknown): string | undefined {
  if (!isJsonObject(value)) return 'permissions are an object: {mode, deny, ask, allow}';
  const unknown = Object.keys(value).find((key) => !PERMISSION_FIELDS.includes(key));
  if (unknown !== undefined) return `${unknown}: no such field: write one of ${PERMISSION_FIELDS.join(', ')}`;
  const { mode, allowUnattendedExecute: unattended } = value;
  if (!PERMISSION_MODES.some((known) => known === mode)) {
    return `mode: ${mode === undefined ? 'it is missing' : `${JSON.stringify(mode)} is not a mode`}: write one of ${PERMISSION_MODES.join(', ')}`;
  }
  if (unattended !== undefined && unattended !== true) return 'allowUnattendedExecute: write true, or leave it out';
  for (const list of RULE_LISTS) {
    const problem = value[list] === undefined ? undefined : listProblem(list, value[list]);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** Returns the tool globs that match none of the names, with their paths. Their rules could never apply. */
export function rulesForNoTool(
  lists: Partial<Record<(typeof RULE_LISTS)[number], PermissionRule[]>>,
  isKnown: (glob: string) => boolean,
): string[] {
  return RULE_LISTS.flatMap((list) =>
    (lists[list] ?? []).flatMap(({ tool, capability }, index) => {
      if (tool === undefined || isKnown(tool)) return [];
      return [
        capability === undefined
          ? `${list}[${index}].tool: ${JSON.stringify(tool)}`
          : `${list}: ${JSON.stringify(tool)} of capability ${JSON.stringify(capability)}`,
      ];
    }),
  );
}

function listProblem(list: string, rules: unknown): string | undefined {
  if (!Array.isArray(rules)) return `${list}: it is a list of rules`;
  if (rules.length > RULE_BOUNDS.rules) return `${list}: it has ${rules.length} rules: write at most ${RULE_BOUNDS.rules}`;
  for (const [index, rule] of rules.entries()) {
    const problem = isJsonObject(rule) ? ruleProblem(rule) : ': a rule is an object: {tool, category, args}';
    if (problem !== undefined) return `${list}[${index}]${problem}`;
  }
  return undefined;
}

function ruleProblem(rule: JsonObject): string | undefined {
  const keys = Object.keys(rule);
  const unknown = keys.find((key) => !RULE_FIELDS.includes(key));
  if (unknown !== undefined) return `.${unknown}: no such field: write one of ${RULE_FIELDS.join(', ')}`;
  const { tool, category, args, capability } = rule;
  if (keys.every((key) => key === 'capability')) return ': the rule is empty: write {tool: "*"} for all tools';
  if (capability !== undefined && (typeof capability !== 'string' || capability === '' || capability.length > MAX_CAPABILITY_NAME)) {
    return `.capability: it is a name of 1 to ${MAX_CAPABILITY_NAME} characters`;
  }
  for (const [key, glob] of Object.entries({ tool, category })) {
    const problem = glob === undefined ? undefined : globProblem(glob);
    if (problem !== undefined) return `.${key}: ${problem}`;
  }
  if (typeof category === 'string' && /^[^*?\\]*$/.test(category) && !TOOL_CATEGORIES.some((known) => known === category.toLowerCase())) {
    return `.category: ${JSON.stringify(category)} is not a category: write one of ${TOOL_CATEGORIES.join(', ')}`;
  }
  return args === undefined ? undefined : argsProblem(args);
}

function argsProblem(args: unknown): string | undefined {
  if (!isJsonObject(args)) return '.args: it is an object: {path: glob}';
  const entries = Object.entries(args);
  if (entries.length === 0 || entries.length > RULE_BOUNDS.args) return `.args: write 1 to ${RULE_BOUNDS.args} paths`;
  for (const [path, glob] of entries) {
    if (path.length > RULE_BOUNDS.path || path.split('.').includes(''))
      return `.args: ${JSON.stringify(path)} is not a path: write names with dots between them`;
    const problem = globProblem(glob);
    if (problem !== undefined) return `.args.${path}: ${problem}`;
  }
  return undefined;
}

/**
 * Globs of permission rules: `*` matches any text, including none, `?` one character, and `\` escapes the next character. All positions in
 * the pattern are followed at once, as bits: the work is linear in the length of the text, for any pattern.
 */

/** A literal character, any one character (`any`), or any text (`star`). */
type Token = { char: string } | 'any' | 'star';

/** Returns why a value is not a valid glob, or undefined. */
function globProblem(glob: unknown): string | undefined {
  if (typeof glob !== 'string') return 'a glob is a text';
  if (glob === '') return 'a glob has at least one character: write "*" for any text';
  if (glob.length > MAX_GLOB_LENGTH) return `a glob has at most ${MAX_GLOB_LENGTH} characters`;
  return /^(?:[^\\]|\\.)*$/su.test(glob) ? undefined : 'the glob ends with "\\": write "\\\\" for a backslash';
}

/** True if the whole text matches. */
export function matchesGlob(glob: string, text: string, ignoreCase = false): boolean {
  const [pattern, value] = ignoreCase ? [glob.toLowerCase(), text.toLowerCase()] : [glob, text];
  return accepts(
    tokensOf(pattern),
    Array.from(value, (char) => ({ char })),
  );
}

/**
 * True if every text that matches `narrow` also matches `wide`. Any text of `narrow` must lie within one `*` of `wide`, so it returns false
 * for some pairs where this holds.
 */
export function globCovers(wide: string, narrow: string, ignoreCase = false): boolean {
  const [a, b] = ignoreCase ? [wide.toLowerCase(), narrow.toLowerCase()] : [wide, narrow];
  return accepts(tokensOf(a), tokensOf(b));
}

function tokensOf(glob: string): Token[] {
  const tokens: Token[] = [];
  let isEscaped = false;
  for (const char of glob) {
    if (!isEscaped && char === '\\') {
      isEscaped = true;
      continue;
    }
    if (isEscaped) tokens.push({ char });
    else if (char !== '*') tokens.push(char === '?' ? 'any' : { char });
    else if (tokens.at(-1) !== 'star') tokens.push('star');
    isEscaped = false;
  }
  return tokens;
}

/** The pattern as sets of positions, in words of 31 bits: the positions that a character leads to, and those where a `*` stays. */
interface Positions {
  words: number;
  byChar: Map<string, Uint32Array>;
  any: Uint32Array;
  stay: Uint32Array;
  last: number;
}

const WORD_BITS = 31;
const FULL_WORD = 0x7fffffff;

function positionsOf(pattern: readonly Token[]): Positions {
  const last = pattern.filter((token) => token !== 'star').length;
  const words = Math.floor(last / WORD_BITS) + 1;
  const positions: Positions = { words, byChar: new Map(), any: new Uint32Array(words), stay: new Uint32Array(words), last };
  let at = 0;
  for (const token of pattern) {
    if (token === 'star') {
      setBit(positions.stay, at);
      continue;
    }
    if (token === 'any') setBit(positions.any, at);
    else setBit(setOf(positions, token.char), at);
    at += 1;
  }
  return positions;
}

function setOf({ byChar, words }: Positions, char: string): Uint32Array {
  const set = byChar.get(char) ?? new Uint32Array(words);
  byChar.set(char, set);
  return set;
}

function setBit(set: Uint32Array, at: number): void {
  const word = Math.floor(at / WORD_BITS);
  set[word] = (set[word] ?? 0) | (1 << (at % WORD_BITS));
}

function accepts(pattern: readonly Token[], text: readonly Token[]): boolean {
  const positions = positionsOf(pattern);
  const { words, byChar, any, stay, last } = positions;
  const none = new Uint32Array(words);
  let current = new Uint32Array(words);
  setBit(current, 0);
  for (const token of text) {
    const same = typeof token === 'object' ? (byChar.get(token.char) ?? none) : none;
    const wild = token === 'star' ? none : any;
    const next = new Uint32Array(words);
    let carry = 0;
    let isAlive = 0;
    for (let word = 0; word < words; word += 1) {
      const now = current[word] ?? 0;
      const moved = now & ((same[word] ?? 0) | (wild[word] ?? 0));
      const bits = ((moved << 1) & FULL_WORD) | carry | (now & (stay[word] ?? 0));
      carry = (moved >>> (WORD_BITS - 1)) & 1;
      next[word] = bits;
      isAlive |= bits;
    }
    if (isAlive === 0) return false;
    current = next;
  }
  return (((current[Math.floor(last / WORD_BITS)] ?? 0) >>> (last % WORD_BITS)) & 1) === 1;
}
