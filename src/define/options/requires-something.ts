/** The members of an object type that have a name of their own: without its index signature. */
export type Named<Type> = { [Name in keyof Type as string extends Name ? never : number extends Name ? never : Name]: Type[Name] };

/** True if an object of the type must have a member. */
export type RequiresSomething<Type> = Partial<Named<Type>> extends Named<Type> ? false : true;
