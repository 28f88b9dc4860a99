import type { AgentSnapshot } from '../core/domain/agent.ts';
import type { AgentOptionsAround, AgentPart, BundledPart, WorkerMeans } from './agent-part.ts';
import { type AgentBursts, type BurstFields, burstPart } from './bursts.ts';
import { bundledGuardrails, type BundledGuardrails, type GuardrailFields, guardrailPart, type AgentGuardrails } from './guardrails.ts';
import { bundledHooks, type BundledHooks, type HookFields, hookPart, type AgentHooks, SHARED_HOOKS, type SharedHooks } from './hooks.ts';
import { type MemoryFields, type AgentMemory, memoryPart } from './memory.ts';
import type { OptionReference, OptionTable } from './option-checks.ts';
import {
  bundledPermissions,
  type BundledPermissions,
  type NarrowingPermissions,
  type PermissionFields,
  permissionPart,
  type AgentPermissions,
} from './permissions.ts';
import { type AgentQuietHours, type QuietHoursFields, quietHoursPart } from './quiet-hours.ts';
import { bundledSkills, type BundledSkills, type SkillFields, skillPart, type AgentSkills } from './skills.ts';
import { type AgentTier, type TierFields, tierPart } from './tier.ts';

/** The options of an agent that belong to capabilities. `Name`: the names of its tools. */
export interface PartOptions<Name extends string = string>
  extends AgentBursts, AgentPermissions<Name>, AgentQuietHours, AgentSkills, AgentMemory, AgentHooks, AgentGuardrails, AgentTier {}

/** The fields of an agent that belong to capabilities. */
export interface PartFields
  extends BurstFields, PermissionFields, QuietHoursFields, SkillFields, MemoryFields, HookFields, GuardrailFields, TierFields {}

/** The options of an agent that belong to capabilities, in the order in which errors list them. */
export const PART_OPTIONS: OptionReference<PartOptions> = {
  ...permissionPart.options,
  ...quietHoursPart.options,
  ...skillPart.options,
  ...memoryPart.options,
  ...hookPart.options,
  ...guardrailPart.options,
  ...tierPart.options,
  ...burstPart.options,
};

/** The capabilities that are parts of an agent, in the order in which their options are checked. */
const PARTS: readonly Omit<AgentPart<PartOptions, PartFields>, 'options'>[] = [
  skillPart,
  memoryPart,
  permissionPart,
  quietHoursPart,
  guardrailPart,
  hookPart,
  tierPart,
  burstPart,
];

/** The worker options that apply a capability to all its agents. */
export interface SharedOptions extends SharedHooks {}

/** The names of the worker options that apply a capability to all its agents. */
export const SHARED_OPTIONS: OptionTable<SharedOptions> = { ...SHARED_HOOKS };

/** The options of a bundle that belong to capabilities. `Name`: the names of its tools. */
export interface BundledOptions<Name extends string = string>
  extends AgentSkills, NarrowingPermissions<Name>, AgentHooks, AgentGuardrails {}

/** What a bundle brings for capabilities. */
export interface BundledFields extends BundledSkills, BundledPermissions, BundledHooks, BundledGuardrails {}

/** The names of the options of a bundle that belong to capabilities. */
export const BUNDLED_OPTIONS: OptionTable<BundledOptions> = {
  ...bundledSkills.options,
  ...bundledPermissions.options,
  ...bundledHooks.options,
  ...bundledGuardrails.options,
};

/** The capabilities that bundles bring, in the order in which their options are checked and merged. */
const BUNDLED_PARTS: readonly Omit<BundledPart<BundledOptions, Partial<BundledFields>, PartOptions>, 'options'>[] = [
  bundledSkills,
  bundledPermissions,
  bundledHooks,
  bundledGuardrails,
];

/** Returns the fields of an agent that belong to capabilities. Throws a UsageError for an option that cannot work. */
export function defineParts(owner: string, options: PartOptions & AgentOptionsAround): PartFields {
  return Object.assign({}, ...PARTS.map((part) => part.define(owner, options))) as PartFields;
}

/** Returns what the capabilities of an agent alone pin in the snapshot of a run that begins at this time. */
export function pinnedByDefinition(fields: PartFields, now: number): Partial<AgentSnapshot> {
  return Object.assign({}, ...PARTS.map((part) => part.pin?.(fields, now))) as Partial<AgentSnapshot>;
}

/** Returns the names of the tools that its capabilities give an agent. */
export function toolNamesOfParts(fields: PartFields): string[] {
  return PARTS.flatMap((part) => part.toolNames?.(fields) ?? []);
}

/** Throws a UsageError if a capability of an agent does not fit its tools. */
export function checkToolsOfParts(owner: string, fields: PartFields, tools: readonly string[]): void {
  for (const part of PARTS) part.checkTools?.(owner, fields, tools);
}

/** Throws a UsageError if a worker with these means could not run an agent because of one of its capabilities. */
export function requireMeansOfParts(owner: string, fields: PartFields, worker: WorkerMeans): void {
  for (const part of PARTS) part.requireMeans?.(owner, fields, worker);
}

/** Returns the models that the capabilities of an agent call. */
export function modelsOfParts(fields: PartFields): string[] {
  return PARTS.flatMap((part) => part.models?.(fields) ?? []);
}

/** Returns only these options of a worker. */
export function sharedOptionsOf(options: SharedOptions): SharedOptions {
  const names = Object.keys(SHARED_OPTIONS) as (keyof SharedOptions)[];
  return Object.fromEntries(names.filter((name) => options[name] !== undefined).map((name) => [name, options[name]]));
}

/** Throws a UsageError if an agent conflicts with what its worker gives to all agents. */
export function checkSharedParts(shared: PartFields, agent: string, fields: PartFields): void {
  for (const part of PARTS) part.checkShared?.(shared, agent, fields);
}

/** Returns what a bundle brings for capabilities. Throws a UsageError for an option that cannot work. */
export function defineBundledParts(owner: string, options: BundledOptions, name: string): BundledFields {
  return Object.assign({}, ...BUNDLED_PARTS.map((part) => part.define(owner, options, name))) as BundledFields;
}

/** Returns the options of an agent that its bundles change. Throws a UsageError if two of them conflict. */
export function mergeBundledParts(
  owner: string,
  own: PartOptions,
  bundles: readonly (BundledFields & { readonly name: string })[],
): PartOptions {
  return Object.assign({}, ...BUNDLED_PARTS.map((part) => part.merge(owner, own, bundles))) as PartOptions;
}
