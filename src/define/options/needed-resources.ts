import type { AnyAgent, ResourcesOf } from '../agent-definition.ts';
import type { Named, RequiresSomething } from './requires-something.ts';
import type { ResourceDefinition } from '../context/resource.ts';
import type { Resources } from '../context/run-context.ts';
import type { AnyTool, ToolDefinition } from '../tools/tool-definition.ts';

/** The intersection of the types in a union; `Resources` if there are none. */
type AllOf<Union> = [Union] extends [never]
  ? Resources
  : (Union extends unknown ? (one: Union) => void : never) extends (all: infer All) => void
    ? All
    : never;

type ResourcesOfTool<Tool> =
  Tool extends ToolDefinition<never, never, unknown, infer Needed> ? ([Needed] extends [never] ? Resources : Needed) : never;

/** The resources that any of these tools names in the type of its context. */
export type ResourcesOfTools<Tools extends readonly AnyTool[]> = AllOf<ResourcesOfTool<Tools[number]>>;

/** The resources that the tools of any of these agents name. */
export type ResourcesOfAgents<Agents extends readonly AnyAgent[]> = AllOf<ResourcesOf<Agents[number]>>;

/** The resources by name as the option takes them: the live object, or a definition made by `resource()`. */
type Option<Needed> = { [Name in keyof Named<Needed>]: Needed[Name & keyof Needed] | ResourceDefinition<Needed[Name & keyof Needed]> };

/**
 * The option `resources` of a worker or a test: required if a tool lists a resource in the type of its context, each with
 * its type. Further resources are allowed. `Provided` names those that are there in any case.
 */
export type ResourcesOption<Needed, Provided extends string = never> =
  RequiresSomething<Omit<Option<Needed>, Provided>> extends true
    ? { resources: Omit<Option<Needed>, Provided> & Resources }
    : { resources?: Omit<Option<Needed>, Provided> & Resources };
