// For `removal`, which still imports it under this name.
export { principalConditions as ownedBy } from './principal-conditions.ts';
