import { LinesPage } from "../page/LinesPage.tsx";
import { start } from "../page/start.tsx";

void start(LinesPage);
