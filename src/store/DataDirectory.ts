import { Config } from "effect"

/** Where the embedded database and its companions are kept (`SLUICE_DATA_DIR`). */
export const dataDirectory = Config.String("SLUICE_DATA_DIR").pipe(Config.withDefault(".sluice"))
