import type { AgentSnapshot, ToolSnapshot } from '../domain/agent.ts';
import { callDigest } from '../domain/approvals.ts';
import { jsonBytes } from '../domain/byte-budgets.ts';
import { canonicalJson, type JsonObject, type JsonValue } from '../domain/json.ts';
import {
  checkAllPermissions,
  effectivePermissions,
  HOSTED_CATEGORY,
  isNarrowing,
  mayBeHosted,
  type PermissionChange,
  PERMISSIONS,
  type Permissions,
  type PermissionVerdict,
  SET_PERMISSIONS,
} from '../domain/permissions.ts';
import { anyObject, listOf, TRUE } from '../domain/shape.ts';
import { type Capability, deny, type GateAnswer, type GatedCall } from '../kernel/capability.ts';
import { points } from '../kernel/points.ts';
import type { Authorization, ModelCall, RunPorts } from '../kernel/ports.ts';
import type { Inbox } from '../kernel/inbox.ts';
import { noteError, recordEvent, type RunState, slice, type WithSlices } from '../kernel/run-state.ts';
import type { NextTurnInput } from '../domain/requests.ts';
import { parentOf } from '../domain/run-input.ts';

// Capability: rules about the calls of a run.

type OfRun = Pick<RunState, 'snapshot' | 'slices'>;

/** The permissions that were set while the run was in progress; they replace the agent's. */
const changed = slice<Permissions>('permissions', PERMISSIONS);

/** The accepted changes that are not yet applied, in the inbox of a run. */
const accepted = slice<PermissionChange[]>('permissionChanges', listOf(anyObject<PermissionChange>()), { bytes: jsonBytes });

/** Set once the policies may be others than those that agents which the run keeps were given at their start. */
const passedOnLater = slice<true>('permissionsPassedOn', TRUE);

/** Returns the accepted changes that are not yet applied, in order. */
export function permissionChanges(inbox: WithSlices): readonly PermissionChange[] {
  return accepted.of(inbox) ?? [];
}

/** Queues a change. Its id must not have been accepted before. */
export function changePermissions(inbox: Inbox, change: PermissionChange): void {
  inbox.accepted.add(change.id);
  accepted.set(inbox, [...permissionChanges(inbox), change]);
}

/** Removes the oldest change. */
function takeChange(inbox: Inbox): void {
  const left = permissionChanges(inbox).slice(1);
  if (left.length === 0) accepted.clear(inbox);
  else accepted.set(inbox, left);
}

/** Returns the policies that apply to the run: its own current policy, and the ones given by its start and its ancestors. */
function permissionsOf(run: OfRun): readonly Permissions[] {
  const pinned = run.snapshot.permissions ?? [];
  const own = changed.of(run);
  return own === undefined ? pinned : [own, ...pinned.slice(1)];
}

/**
 * Returns the verdict on a call of a tool with these arguments. Capabilities that narrow the tools of the run come first. `denied` is the
 * text for the model, `asked` the reason for the person who decides.
 */
function permissionVerdict(run: OfRun, tool: ToolSnapshot, args: JsonObject): PermissionVerdict {
  const { name, category } = tool;
  const narrowed = points.narrowsTool(run, tool);
  const layers = permissionsOf(run);
  if (narrowed === undefined && layers.length === 0) return {};
  const verdict = narrowed === undefined ? checkAllPermissions(layers, { tool: name, category, arguments: args }) : { denied: narrowed };
  if (verdict.denied === undefined) return verdict;
  return { ...verdict, denied: `The permissions of this run do not allow this call of "${name}": ${verdict.denied}.` };
}

/** Returns the names of the hosted tools that the provider must not run now. No gate sees their calls, so they are not offered. */
function withoutHosted(run: OfRun): Pick<ModelCall, 'withoutHosted'> {
  const layers = permissionsOf(run);
  const refused = (run.snapshot.hosted ?? []).filter(
    ({ name }) => points.narrowsTool(run, { name }) !== undefined || !mayBeHosted(layers, { name, category: HOSTED_CATEGORY }),
  );
  return refused.length === 0 ? {} : { withoutHosted: refused.map(({ name }) => name) };
}

/** Denies a call or requires a decision, as the permissions say. */
function checkCall({ run, call, tool }: GatedCall): GateAnswer {
  const { denied, asked } = tool === undefined ? {} : permissionVerdict(run, tool, call.arguments);
  if (denied !== undefined) return deny('refused', denied);
  if (asked === undefined) return undefined;
  return { type: 'ask', requirement: { digest: callDigest(call.name, call.arguments), reason: asked } };
}

// Capability: changes of permissions.

/** Returns the policy that a change replaces. */
export function ownPermissions(state: OfRun): Permissions {
  return permissionsOf(state)[0] ?? { mode: 'default' };
}

/**
 * Applies and records the received changes that narrow the permissions. A change that widens them waits for the worker, unless a later one
 * narrows: each change replaces the whole policy, so the earlier one no longer has any effect.
 */
function takeNarrowings(state: RunState, ports: RunPorts): void {
  const { inbox } = ports;
  for (;;) {
    const changes = permissionChanges(inbox);
    const [change] = changes;
    if (change === undefined) return;
    const own = ownPermissions(state);
    if (!changes.some(({ permissions }) => isNarrowing(own, permissions))) return;
    takeChange(inbox);
    if (isNarrowing(own, change.permissions)) applyPermissionChange(state, ports, change);
    else refusePermissionChange(state, ports, change, 'a later change narrows them and replaces this one');
  }
}

/** Applies the received changes: the worker first authorizes each one that widens. */
async function settlePermissions(state: RunState, ports: RunPorts): Promise<undefined> {
  for (takeNarrowings(state, ports); permissionChanges(ports.inbox).length > 0; takeNarrowings(state, ports)) {
    const [change] = permissionChanges(ports.inbox);
    if (change === undefined) return undefined;
    const verdict = await authorizePermissionChange(state, ports, change);
    if (verdict.type === 'cancelled') return undefined;
    takeChange(ports.inbox);
    if (verdict.type === 'authorized') applyPermissionChange(state, ports, { ...change, verifiedBy: verdict.as });
    else refusePermissionChange(state, ports, change, verdict.reason);
  }
  return undefined;
}

function applyPermissionChange(state: RunState, clock: RunPorts, change: PermissionChange): void {
  changed.set(state, change.permissions);
  recordEvent(state, clock, { author: change.verifiedBy ?? change.by ?? 'user', content: [], permissions: change });
}

function refusePermissionChange(state: RunState, clock: RunPorts, { id, by }: PermissionChange, reason: string): void {
  const message = `The permissions were not changed: ${reason}`;
  noteError(state, message);
  const refused = { request: 'setPermissions', id, ...(by === null ? {} : { by }), code: 'not_authorized', message };
  recordEvent(state, clock, { author: by ?? 'user', content: [], refused });
}

function authorizePermissionChange(
  state: RunState,
  ports: RunPorts,
  { id, permissions, by, at }: PermissionChange,
): Promise<Authorization> {
  // A change that narrowed when it was accepted may now widen the result of another change.
  if (!state.snapshot.authorize)
    return Promise.resolve({ type: 'refused', reason: 'they would be wider, and the worker has no "authorize"' });
  const about = { callId: SET_PERMISSIONS, toolName: SET_PERMISSIONS, digest: SET_PERMISSIONS };
  return ports.authorize(
    { id, type: 'approve', ...about, arguments: permissions, by, source: 'update', at },
    { kind: 'limit', ...about, key: id, step: state.context.currentStep + 1, requestedAt: ports.now() },
  );
}

// Capability: the policies of the parent, and of the runs that this one starts.

/** Takes the policies of the run that keeps this session. */
function takeFromParent(state: RunState, { permissions: given }: NextTurnInput): boolean {
  const parent = parentOf(state);
  if (given === undefined || parent === undefined) return false;
  parent.permissions = given;
  state.snapshot = inheriting(state.snapshot, given);
  notePolicies(state);
  return true;
}

/** Returns an agent with the policies of the parent, which may be others than when the agent was pinned. */
function inheriting(snapshot: AgentSnapshot, given: readonly Permissions[]): AgentSnapshot {
  const { permissions: pinned = [] } = snapshot;
  const [own = { mode: 'default' as const }] = pinned;
  const permissions = effectivePermissions(own, given);
  return isSame(pinned, permissions) ? snapshot : { ...snapshot, permissions };
}

function isSame(one: readonly Permissions[], other: readonly Permissions[]): boolean {
  return canonicalJson(JSON.parse(JSON.stringify(one)) as JsonValue) === canonicalJson(JSON.parse(JSON.stringify(other)) as JsonValue);
}

/** Called when another agent acts. */
function takeOver(state: RunState): void {
  const given = parentOf(state)?.permissions;
  if (given !== undefined) state.snapshot = inheriting(state.snapshot, given);
  notePolicies(state);
}

/** Notes that agents which the run keeps must be given its policies again. */
function notePolicies(state: RunState): void {
  if (state.snapshot.tools.some(({ agent }) => agent?.kept === true)) passedOnLater.set(state, true);
}

function passOn(state: RunState): { permissions?: Permissions[] } {
  const layers = permissionsOf(state);
  return layers.length === 0 ? {} : { permissions: [...layers] };
}

function passOnLater(state: RunState): { permissions?: Permissions[] } {
  const isChanged = changed.of(state) !== undefined || passedOnLater.of(state) === true;
  return isChanged ? { permissions: [...permissionsOf(state)] } : {};
}

export const permissions: Capability = {
  name: 'permissions',
  slices: [changed, accepted, passedOnLater],
  modelCallParts: withoutHosted,
  gates: [{ name: 'permissions', place: 'rules', again: true, check: checkCall }],
  stepBegins: (state, ports) => (permissionChanges(ports.inbox).length > 0 ? settlePermissions(state, ports) : undefined),
  // Unstarted calls must not run under permissions that a caller has already narrowed.
  gateOpens: takeNarrowings,
  passesOn: passOn,
  passesOnLater: passOnLater,
  takesRules: takeFromParent,
  agentSwitched: takeOver,
  agentRefreshed: notePolicies,
};
