import { isJsonObject, type JsonObject } from '../json/json.ts';
import { globProblem } from './glob.ts';
import { PERMISSION_MODES, type PermissionRule, RULE_LISTS, TOOL_CATEGORIES } from './permissions.ts';

/** The most rules of one list, globs for arguments of one rule, and characters of a path. */
const MAX = { rules: 100, args: 10, path: 200 };

const FIELDS: readonly string[] = ['mode', ...RULE_LISTS, 'allowUnattendedExecute'];
const RULE_FIELDS = ['tool', 'category', 'args'];

/** Returns the path and the reason of the first thing that cannot be in permissions: `deny[0].tool: …`; undefined if all is well. */
export function permissionsProblem(value: unknown): string | undefined {
  if (!isJsonObject(value)) return 'permissions are an object: {mode, deny, ask, allow}';
  const unknown = Object.keys(value).find((key) => !FIELDS.includes(key));
  if (unknown !== undefined) return `${unknown}: no such field: write one of ${FIELDS.join(', ')}`;
  const { mode, allowUnattendedExecute: unattended } = value;
  if (!PERMISSION_MODES.some((known) => known === mode)) {
    return `mode: ${mode === undefined ? 'it is missing' : `${JSON.stringify(mode)} is no mode`}: write one of ${PERMISSION_MODES.join(', ')}`;
  }
  if (unattended !== undefined && unattended !== true) return 'allowUnattendedExecute: write true, or leave it out';
  for (const list of RULE_LISTS) {
    const problem = value[list] === undefined ? undefined : listProblem(list, value[list]);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** Returns the globs for tools that match no name of a list: paths and globs. Their rules could never apply. */
export function rulesForNoTool(
  lists: Partial<Record<(typeof RULE_LISTS)[number], PermissionRule[]>>,
  isKnown: (glob: string) => boolean,
): string[] {
  return RULE_LISTS.flatMap((list) =>
    (lists[list] ?? []).flatMap(({ tool }, index) =>
      tool === undefined || isKnown(tool) ? [] : [`${list}[${index}].tool: ${JSON.stringify(tool)}`],
    ),
  );
}

function listProblem(list: string, rules: unknown): string | undefined {
  if (!Array.isArray(rules)) return `${list}: it is a list of rules`;
  if (rules.length > MAX.rules) return `${list}: it has ${rules.length} rules: write at most ${MAX.rules}`;
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
  if (keys.length === 0) return ': the rule is empty: write {tool: "*"} for all tools';
  const { tool, category, args } = rule;
  for (const [key, glob] of Object.entries({ tool, category })) {
    const problem = glob === undefined ? undefined : globProblem(glob);
    if (problem !== undefined) return `.${key}: ${problem}`;
  }
  if (typeof category === 'string' && /^[^*?\\]*$/.test(category) && !TOOL_CATEGORIES.some((known) => known === category.toLowerCase())) {
    return `.category: ${JSON.stringify(category)} is no category: write one of ${TOOL_CATEGORIES.join(', ')}`;
  }
  return args === undefined ? undefined : argsProblem(args);
}

function argsProblem(args: unknown): string | undefined {
  if (!isJsonObject(args)) return '.args: it is an object: {path: glob}';
  const entries = Object.entries(args);
  if (entries.length === 0 || entries.length > MAX.args) return `.args: write 1 to ${MAX.args} paths`;
  for (const [path, glob] of entries) {
    if (path.length > MAX.path || path.split('.').includes(''))
      return `.args: ${JSON.stringify(path)} is no path: write names with dots between them`;
    const problem = globProblem(glob);
    if (problem !== undefined) return `.args.${path}: ${problem}`;
  }
  return undefined;
}
