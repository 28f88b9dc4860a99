import type { PermissionRule, RULE_LISTS } from './permissions.ts';

/** Returns a rule for a person or a model to read: `deny: tool "web_*", path "/etc/*"`. */
export function ruleText(list: (typeof RULE_LISTS)[number], { tool, category, args = {} }: PermissionRule): string {
  const parts = [
    ...(tool === undefined ? [] : [`tool ${JSON.stringify(tool)}`]),
    ...(category === undefined ? [] : [`category ${JSON.stringify(category)}`]),
    ...Object.entries(args).map(([path, glob]) => `${path} ${JSON.stringify(glob)}`),
  ];
  return `${list}: ${parts.join(', ')}`;
}
