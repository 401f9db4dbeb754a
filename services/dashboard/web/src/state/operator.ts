// The operator's name, kept in this browser: every action is signed with it.
const key = "millrace.operator";

export const operatorName = (): string => localStorage.getItem(key) ?? "";

export const rememberOperator = (name: string) => localStorage.setItem(key, name.trim());
