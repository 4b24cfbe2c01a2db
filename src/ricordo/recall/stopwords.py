"""The words that carry no subject of their own, in Italian and English, question words included.

They are left out of what is indexed and of what is asked: "when did Anna go to the sea?" is about Anna,
going and the sea. The lists also tell the two languages apart: hardly anyone writes a sentence without them.
"""

_ENGLISH = """
a about above after again against all also am an and any anyone anything are aren around as at be because
been before being below between both but by can cannot could couldn did didn do does doesn doing don done
down during each either else ever every few for from further get gets getting got had hadn has hasn have
haven having he her here hers herself him himself his how i if in into is isn it its itself just let ll many
may me might more most much must mustn my myself no nor not now of off oh ok okay on once one only or other
our ours ourselves out over own per quite rather re really s same shall she should shouldn since so some
someone something still such t than that the their theirs them themselves then there these they this those
though through thus to too under until up upon us ve very was wasn we well were weren what whatever when
whenever where wherever which while who whoever whom whose why will with within without won would wouldn
yeah yes yet you your yours yourself yourselves
"""

_ITALIAN = """
a abbia abbiamo abbiano abbiate ad adesso agli ai al alla alle allo allora altra altre altri altro anche
ancora avendo aver avere avesse avessi avete aveva avevamo avevano avevi avevo avra avrai avranno avrebbe
avrebbero avrei avremo avrete avro avuta avute avuti avuto bene c che chi chiunque ci cio cioe coi col com come
con contro cos cosa cosi cui d da dagli dai dal dall dalla dalle dallo degli dei del dell della delle dello
dentro di dopo dov dove dovunque e ebbe ebbero ebbi ecco ed era erano eravamo eri ero essa esse essendo essere
essi esso faccia facciamo facendo facesse faceva facevano fai fanno far fara fare fatto fece feci fin finche
fino fo fosse fossero fossi foste fosti fra fu fui fummo furono gia gli grazie ha hai hanno ho i il in
infatti io l la le lei li lo loro lui ma magari mai me mi mia mie miei mio molta molte molti molto ne
neanche negli nei nel nell nella nelle nello nemmeno no noi non nostra nostre nostri nostro o oppure ora
ovvero parecchi per perche percio pero piu poco poi poiche qua qual qualche qualcosa qualcuno quale quali quando
quanta quant quante quanti quanto quasi quei quel quell quella quelle quelli quello questa queste questi questo
qui quindi sara saranno sarebbe sarebbero sarei saremo saro se sei senza si sia siamo siano siate siete solo
sono sopra sotto sta stai stanno stare stata state stati stato stava stavo stessa stesse stessi stesso sto
su sua sue sugli sui sul sull sulla sulle sullo suo suoi t ti tra troppo tu tua tue tuo tuoi tutta tutte
tutti tutto un una uno v ve vi voi vostra vostre vostri vostro
"""

ENGLISH = frozenset(_ENGLISH.split())
ITALIAN = frozenset(_ITALIAN.split())
