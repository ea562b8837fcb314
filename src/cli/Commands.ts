import { credits } from "./Credits.ts"
import { keys } from "./Keys.ts"
import { limits, organizations } from "./Organizations.ts"
import { usage } from "./Usage.ts"

/** The commands that ask a running server. */
export const commands = [keys, credits, usage, organizations, limits] as const
